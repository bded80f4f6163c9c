"""The nouns: English, German, gender, German plural, semantic kinds. Nothing here knows a rule of grammar.

Nouns without a German plural are mass nouns. `lies` and `stands` name the posture verb German uses for where a thing is.
A word that could be either sex in English has the one German rendering given here (teacher is Lehrer, and is "he").
"""

from entries import Gender, Name, Noun


def _noun(
    english: str,
    german: str,
    gender: Gender,
    plural: str,
    kinds: str,
    english_plural: str = "",
    *,
    weak: bool = False,
    plural_only: bool = False,
) -> Noun:
    own_name = english.replace(" ", "_")
    many = english if plural_only else english_plural or english + ("es" if english[-1] in "sxh" else "s")
    return Noun(english, german, gender, plural, frozenset([*kinds.split(), own_name]), many, weak, plural_only)


PEOPLE = [
    _noun("man", "Mann", "m", "Männer", "people grown stranger", "men"),
    _noun("woman", "Frau", "f", "Frauen", "people grown stranger", "women"),
    _noun("boy", "Junge", "m", "Jungen", "people stranger youngster", weak=True),
    _noun("girl", "Mädchen", "n", "Mädchen", "people stranger youngster"),
    _noun("child", "Kind", "n", "Kinder", "people stranger youngster", "children"),
    _noun("teacher", "Lehrer", "m", "Lehrer", "people grown known worker"),
    _noun("doctor", "Arzt", "m", "Ärzte", "people grown known worker"),
    _noun("friend", "Freund", "m", "Freunde", "people grown known mine"),
    _noun("neighbour", "Nachbar", "m", "Nachbarn", "people grown known mine", weak=True),
    _noun("colleague", "Kollege", "m", "Kollegen", "people grown known mine worker", weak=True),
    _noun("student", "Student", "m", "Studenten", "people grown stranger", weak=True),
    _noun("pupil", "Schüler", "m", "Schüler", "people stranger youngster"),
    _noun("boss", "Chef", "m", "Chefs", "people grown known mine worker"),
    _noun("guest", "Gast", "m", "Gäste", "people grown known mine"),
    _noun("waiter", "Kellner", "m", "Kellner", "people grown stranger worker"),
    _noun("saleswoman", "Verkäuferin", "f", "Verkäuferinnen", "people grown stranger worker", "saleswomen"),
    _noun("actress", "Schauspielerin", "f", "Schauspielerinnen", "people grown stranger worker"),
    _noun("policeman", "Polizist", "m", "Polizisten", "people grown stranger worker", "policemen", weak=True),
    _noun("engineer", "Ingenieur", "m", "Ingenieure", "people grown stranger worker"),
    _noun("farmer", "Bauer", "m", "Bauern", "people grown stranger worker", weak=True),
    _noun("nurse", "Krankenschwester", "f", "Krankenschwestern", "people grown stranger worker"),
    _noun("baker", "Bäcker", "m", "Bäcker", "people grown stranger worker"),
    _noun("customer", "Kunde", "m", "Kunden", "people grown known", weak=True),
    _noun("tourist", "Tourist", "m", "Touristen", "people grown stranger", weak=True),
]

RELATIVES = [
    _noun("father", "Vater", "m", "Väter", "kin only_one"),
    _noun("mother", "Mutter", "f", "Mütter", "kin only_one"),
    _noun("brother", "Bruder", "m", "Brüder", "kin"),
    _noun("sister", "Schwester", "f", "Schwestern", "kin"),
    _noun("son", "Sohn", "m", "Söhne", "kin"),
    _noun("daughter", "Tochter", "f", "Töchter", "kin"),
    _noun("uncle", "Onkel", "m", "Onkel", "kin"),
    _noun("aunt", "Tante", "f", "Tanten", "kin"),
    _noun("grandfather", "Großvater", "m", "Großväter", "kin only_one"),
    _noun("grandmother", "Großmutter", "f", "Großmütter", "kin only_one"),
    _noun("nephew", "Neffe", "m", "Neffen", "kin", weak=True),
    _noun("niece", "Nichte", "f", "Nichten", "kin"),
    _noun("parents", "Eltern", "m", "Eltern", "kin", plural_only=True),
    _noun("grandparents", "Großeltern", "m", "Großeltern", "kin", plural_only=True),
]

ANIMALS = [
    _noun("dog", "Hund", "m", "Hunde", "animals pet"),
    _noun("cat", "Katze", "f", "Katzen", "animals pet"),
    _noun("bird", "Vogel", "m", "Vögel", "animals"),
    _noun("horse", "Pferd", "n", "Pferde", "animals"),
    _noun("mouse", "Maus", "f", "Mäuse", "animals", "mice"),
    _noun("cow", "Kuh", "f", "Kühe", "animals"),
    _noun("rabbit", "Kaninchen", "n", "Kaninchen", "animals pet"),
    _noun("duck", "Ente", "f", "Enten", "animals"),
]

FOOD = [
    _noun("apple", "Apfel", "m", "Äpfel", "foods fruits"),
    _noun("pear", "Birne", "f", "Birnen", "foods fruits"),
    _noun("banana", "Banane", "f", "Bananen", "foods fruits"),
    _noun("orange", "Orange", "f", "Orangen", "foods fruits"),
    _noun("tomato", "Tomate", "f", "Tomaten", "foods raw", "tomatoes"),
    _noun("potato", "Kartoffel", "f", "Kartoffeln", "foods raw several", "potatoes"),
    _noun("onion", "Zwiebel", "f", "Zwiebeln", "raw several"),
    _noun("carrot", "Karotte", "f", "Karotten", "foods raw several"),
    _noun("egg", "Ei", "n", "Eier", "foods raw"),
    _noun("cake", "Kuchen", "m", "Kuchen", "foods baked"),
    _noun("roll", "Brötchen", "n", "Brötchen", "foods baked several"),
    _noun("biscuit", "Keks", "m", "Kekse", "foods baked several"),
    _noun("pizza", "Pizza", "f", "Pizzas", "foods meals"),
    _noun("sausage", "Wurst", "f", "Würste", "foods"),
    _noun("soup", "Suppe", "f", "", "groceries meals"),
    _noun("salad", "Salat", "m", "Salate", "foods meals"),
    _noun("bread", "Brot", "n", "", "groceries baked"),
    _noun("cheese", "Käse", "m", "", "groceries"),
    _noun("rice", "Reis", "m", "", "groceries raw"),
    _noun("meat", "Fleisch", "n", "", "groceries raw"),
    _noun("fish", "Fisch", "m", "", "groceries meals"),
    _noun("butter", "Butter", "f", "", "groceries"),
    _noun("ham", "Schinken", "m", "", "groceries"),
    _noun("honey", "Honig", "m", "", "groceries"),
    _noun("chocolate", "Schokolade", "f", "", "groceries"),
    _noun("coffee", "Kaffee", "m", "", "drinks hot_drinks"),
    _noun("tea", "Tee", "m", "", "drinks hot_drinks"),
    _noun("milk", "Milch", "f", "", "drinks cold_drinks"),
    _noun("water", "Wasser", "n", "", "drinks cold_drinks"),
    _noun("juice", "Saft", "m", "", "drinks cold_drinks"),
    _noun("beer", "Bier", "n", "", "drinks cold_drinks"),
    _noun("wine", "Wein", "m", "", "drinks cold_drinks"),
    _noun("lemonade", "Limonade", "f", "", "drinks cold_drinks"),
]

TEXTS = [
    _noun("book", "Buch", "n", "Bücher", "texts lies"),
    _noun("newspaper", "Zeitung", "f", "Zeitungen", "texts lies"),
    _noun("magazine", "Zeitschrift", "f", "Zeitschriften", "texts lies"),
    _noun("novel", "Roman", "m", "Romane", "texts lies"),
    _noun("dictionary", "Wörterbuch", "n", "Wörterbücher", "volume lies", "dictionaries"),
    _noun("letter", "Brief", "m", "Briefe", "letters lies"),
    _noun("e-mail", "E-Mail", "f", "E-Mails", "letters electronic"),
    _noun("message", "Nachricht", "f", "Nachrichten", "letters electronic"),
    _noun("postcard", "Postkarte", "f", "Postkarten", "letters lies"),
    _noun("report", "Bericht", "m", "Berichte", "writings"),
    _noun("text", "Text", "m", "Texte", "writings"),
    _noun("story", "Geschichte", "f", "Geschichten", "writings", "stories"),
    _noun("poem", "Gedicht", "n", "Gedichte", "writings"),
]

CLOTHES = [
    _noun("coat", "Mantel", "m", "Mäntel", "clothes dressing"),
    _noun("jacket", "Jacke", "f", "Jacken", "clothes dressing"),
    _noun("shirt", "Hemd", "n", "Hemden", "clothes dressing"),
    _noun("dress", "Kleid", "n", "Kleider", "clothes dressing ladies"),
    _noun("skirt", "Rock", "m", "Röcke", "clothes dressing ladies"),
    _noun("sweater", "Pullover", "m", "Pullover", "clothes dressing"),
    _noun("blouse", "Bluse", "f", "Blusen", "clothes dressing ladies"),
    _noun("suit", "Anzug", "m", "Anzüge", "clothes dressing"),
    _noun("hat", "Hut", "m", "Hüte", "clothes"),
    _noun("cap", "Mütze", "f", "Mützen", "clothes"),
    _noun("scarf", "Schal", "m", "Schals", "clothes", "scarves"),
    _noun("shoe", "Schuh", "m", "Schuhe", "clothes dressing pairs"),
    _noun("boot", "Stiefel", "m", "Stiefel", "clothes dressing pairs"),
    _noun("glove", "Handschuh", "m", "Handschuhe", "clothes dressing pairs"),
]

FURNITURE = [
    _noun("table", "Tisch", "m", "Tische", "furniture top under beside"),
    _noun("desk", "Schreibtisch", "m", "Schreibtische", "furniture top under beside"),
    _noun("chair", "Stuhl", "m", "Stühle", "furniture top under beside"),
    _noun("armchair", "Sessel", "m", "Sessel", "furniture beside behind soft"),
    _noun("bed", "Bett", "n", "Betten", "furniture under beside soft"),
    _noun("sofa", "Sofa", "n", "Sofas", "furniture beside behind soft"),
    _noun("cupboard", "Schrank", "m", "Schränke", "furniture inside beside"),
    _noun("shelf", "Regal", "n", "Regale", "furniture inside beside", "shelves"),
    _noun("carpet", "Teppich", "m", "Teppiche", "furniture under"),
    _noun("mirror", "Spiegel", "m", "Spiegel", "furniture hangs"),
    _noun("lamp", "Lampe", "f", "Lampen", "furniture switched stands beside"),
    _noun("drawer", "Schublade", "f", "Schubladen", "inside"),
]

DEVICES = [
    _noun("radio", "Radio", "n", "Radios", "devices switched stands beside"),
    _noun("television", "Fernseher", "m", "Fernseher", "devices switched beside behind"),
    _noun("computer", "Computer", "m", "Computer", "devices switched beside behind"),
    _noun("printer", "Drucker", "m", "Drucker", "devices switched beside"),
    _noun("mobile phone", "Handy", "n", "Handys", "devices switched lies"),
    _noun("camera", "Kamera", "f", "Kameras", "devices switched lies"),
    _noun("washing machine", "Waschmaschine", "f", "Waschmaschinen", "devices switched beside"),
    _noun("fridge", "Kühlschrank", "m", "Kühlschränke", "devices beside"),
    _noun("clock", "Uhr", "f", "Uhren", "devices hangs"),
]

VEHICLES = [
    _noun("car", "Auto", "n", "Autos", "vehicles own_vehicles"),
    _noun("bicycle", "Fahrrad", "n", "Fahrräder", "vehicles own_vehicles"),
    _noun("motorbike", "Motorrad", "n", "Motorräder", "vehicles own_vehicles"),
    _noun("boat", "Boot", "n", "Boote", "vehicles own_vehicles"),
    _noun("bus", "Bus", "m", "Busse", "vehicles public"),
    _noun("train", "Zug", "m", "Züge", "vehicles public"),
    _noun("tram", "Straßenbahn", "f", "Straßenbahnen", "vehicles public"),
    _noun("taxi", "Taxi", "n", "Taxis", "vehicles cab"),
]

THINGS = [
    _noun("bag", "Tasche", "f", "Taschen", "luggage stands_low"),
    _noun("suitcase", "Koffer", "m", "Koffer", "luggage stands_low"),
    _noun("backpack", "Rucksack", "m", "Rucksäcke", "luggage stands_low"),
    _noun("box", "Kiste", "f", "Kisten", "boxes stands_low inside"),
    _noun("basket", "Korb", "m", "Körbe", "boxes stands_low inside"),
    _noun("parcel", "Paket", "n", "Pakete", "boxes lies"),
    _noun("present", "Geschenk", "n", "Geschenke", "gifts lies"),
    _noun("bottle", "Flasche", "f", "Flaschen", "dishes stands"),
    _noun("cup", "Tasse", "f", "Tassen", "dishes fragile stands"),
    _noun("glass", "Glas", "n", "Gläser", "dishes fragile stands"),
    _noun("plate", "Teller", "m", "Teller", "dishes fragile stands"),
    _noun("pot", "Topf", "m", "Töpfe", "dishes stands"),
    _noun("vase", "Vase", "f", "Vasen", "fragile gifts stands"),
    _noun("knife", "Messer", "n", "Messer", "cutlery lies", "knives"),
    _noun("fork", "Gabel", "f", "Gabeln", "cutlery lies"),
    _noun("spoon", "Löffel", "m", "Löffel", "cutlery lies"),
    _noun("key", "Schlüssel", "m", "Schlüssel", "small lies"),
    _noun("pen", "Kugelschreiber", "m", "Kugelschreiber", "small lies"),
    _noun("pencil", "Bleistift", "m", "Bleistifte", "small lies"),
    _noun("umbrella", "Regenschirm", "m", "Regenschirme", "small lies"),
    _noun("ticket", "Ticket", "n", "Tickets", "small papers lies"),
    _noun("passport", "Reisepass", "m", "Reisepässe", "small papers lies"),
    _noun("ring", "Ring", "m", "Ringe", "small gifts lies"),
    _noun("ball", "Ball", "m", "Bälle", "toys lies"),
    _noun("doll", "Puppe", "f", "Puppen", "toys lies"),
    _noun("picture", "Bild", "n", "Bilder", "pictures hangs"),
    _noun("photo", "Foto", "n", "Fotos", "pictures lies"),
    _noun("calendar", "Kalender", "m", "Kalender", "papers hangs"),
    _noun("flower", "Blume", "f", "Blumen", "gifts plants"),
    _noun("tree", "Baum", "m", "Bäume", "plants"),
    _noun("guitar", "Gitarre", "f", "Gitarren", "gifts"),
    _noun("contract", "Vertrag", "m", "Verträge", "papers"),
    _noun("form", "Formular", "n", "Formulare", "papers"),
    _noun("bill", "Rechnung", "f", "Rechnungen", "papers"),
]

BUILDINGS = [
    _noun("house", "Haus", "n", "Häuser", "buildings homes"),
    _noun("flat", "Wohnung", "f", "Wohnungen", "homes"),
    _noun("room", "Zimmer", "n", "Zimmer", "rooms"),
    _noun("bridge", "Brücke", "f", "Brücken", "buildings"),
    _noun("street", "Straße", "f", "Straßen", "ways"),
    _noun("city", "Stadt", "f", "Städte", "towns", "cities"),
    _noun("door", "Tür", "f", "Türen", "openings beside behind"),
    _noun("window", "Fenster", "n", "Fenster", "openings beside"),
    _noun("roof", "Dach", "n", "Dächer", "parts"),
]

EVENTS = [
    _noun("film", "Film", "m", "Filme", "events shows"),
    _noun("concert", "Konzert", "n", "Konzerte", "events starts_on"),
    _noun("game", "Spiel", "n", "Spiele", "events shows starts_on"),
    _noun("party", "Party", "f", "Partys", "events planned", "parties"),
    _noun("meeting", "Besprechung", "f", "Besprechungen", "events planned starts_on indoors_event"),
    _noun("course", "Kurs", "m", "Kurse", "events starts_on indoors_event"),
    _noun("exam", "Prüfung", "f", "Prüfungen", "events starts_on indoors_event"),
    _noun("exhibition", "Ausstellung", "f", "Ausstellungen", "events planned"),
    _noun("trip", "Reise", "f", "Reisen", "events planned"),
    _noun("wedding", "Hochzeit", "f", "Hochzeiten", "events planned"),
    _noun("birthday", "Geburtstag", "m", "Geburtstage", "dates"),
    _noun("holidays", "Ferien", "m", "Ferien", "dates", plural_only=True),
    _noun("breakfast", "Frühstück", "n", "", "mealtimes"),
    _noun("lunch", "Mittagessen", "n", "", "mealtimes"),
    _noun("dinner", "Abendessen", "n", "", "mealtimes"),
]

ABSTRACT = [
    _noun("question", "Frage", "f", "Fragen", "ideas asked"),
    _noun("answer", "Antwort", "f", "Antworten", "ideas"),
    _noun("problem", "Problem", "n", "Probleme", "ideas asked"),
    _noun("mistake", "Fehler", "m", "Fehler", "ideas"),
    _noun("idea", "Idee", "f", "Ideen", "ideas"),
    _noun("plan", "Plan", "m", "Pläne", "ideas"),
    _noun("word", "Wort", "n", "Wörter", "language_parts"),
    _noun("sentence", "Satz", "m", "Sätze", "language_parts"),
    _noun("rule", "Regel", "f", "Regeln", "language_parts"),
    _noun("exercise", "Übung", "f", "Übungen", "ideas asked"),
    _noun("language", "Sprache", "f", "Sprachen", "subjects"),
    _noun("song", "Lied", "n", "Lieder", "musical"),
    _noun("recipe", "Rezept", "n", "Rezepte", "texts_short"),
    _noun("joke", "Witz", "m", "Witze", "jokes"),
    _noun("music", "Musik", "f", "", "sounds"),
    _noun("noise", "Lärm", "m", "", "sounds nuisance"),
    _noun("weather", "Wetter", "n", "", "nuisance"),
    _noun("money", "Geld", "n", "", "wealth"),
    _noun("time", "Zeit", "f", "", "wealth"),
    _noun("price", "Preis", "m", "Preise", "parts"),
    _noun("colour", "Farbe", "f", "Farben", "parts"),
]

NOUNS: tuple[Noun, ...] = (
    *PEOPLE,
    *RELATIVES,
    *ANIMALS,
    *FOOD,
    *TEXTS,
    *CLOTHES,
    *FURNITURE,
    *DEVICES,
    *VEHICLES,
    *THINGS,
    *BUILDINGS,
    *EVENTS,
    *ABSTRACT,
)
NOUN: dict[str, Noun] = {noun.english: noun for noun in NOUNS}

NAMES = tuple(Name(name, "f") for name in ("Anna", "Julia", "Laura", "Lena", "Maria", "Sarah", "Emma", "Clara")) + tuple(
    Name(name, "m") for name in ("Paul", "Peter", "Martin", "Daniel", "Jan", "Leon", "Tim", "Robert")
)
