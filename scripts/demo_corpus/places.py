"""Places with the prepositions each language wants for going there and being there, cities, countries, means of travel."""

from entries import Adverbial, Gender, Noun, Place


def _place(
    english: str,
    german: str,
    gender: Gender,
    plural: str,
    to: str,
    german_to: str,
    at: str,
    german_at: str,
    kinds: str,
) -> Place:
    noun = Noun(
        english,
        german,
        gender,
        plural,
        frozenset([*kinds.split(), english.replace(" ", "_")]),
        _plural(english),
    )
    return Place(english, noun, noun.kinds, to, german_to, at, german_at)


def _plural(english: str) -> str:
    """Places that are also drawn as plain nouns need an English plural; it is regular for all of them."""
    return english[:-1] + "ies" if english[-1] == "y" else english + ("es" if english[-1] in "hx" else "s")


# fmt: off
PLACES = (
    _place("cinema", "Kino", "n", "Kinos", "to the", "in", "at the", "in", "walkable leisure"),
    _place("theatre", "Theater", "n", "Theater", "to the", "in", "at the", "in", "walkable leisure workplace"),
    _place("museum", "Museum", "n", "Museen", "to the", "in", "at the", "in", "walkable leisure workplace"),
    _place("restaurant", "Restaurant", "n", "Restaurants", "to the", "in", "at the", "in",
        "walkable eating workplace"),
    _place("café", "Café", "n", "Cafés", "to the", "in", "at the", "in", "walkable eating workplace meeting_point"),
    _place("park", "Park", "m", "Parks", "to the", "in", "in the", "in",
        "walkable runnable playground resting outdoors"),
    _place("garden", "Garten", "m", "Gärten", "into the", "in", "in the", "in",
        "walkable runnable playground resting outdoors"),
    _place("forest", "Wald", "m", "Wälder", "into the", "in", "in the", "in",
        "walkable runnable playground hiking outdoors"),
    _place("beach", "Strand", "m", "Strände", "to the", "an", "on the", "an",
        "walkable drivable playground resting outdoors"),
    _place("sea", "Meer", "n", "Meere", "to the", "an", "in the", "in", "drivable bathing"),
    _place("lake", "See", "m", "Seen", "to the", "an", "in the", "in", "walkable drivable bathing"),
    _place("river", "Fluss", "m", "Flüsse", "to the", "an", "in the", "in", "walkable bathing"),
    _place("swimming pool", "Schwimmbad", "n", "Schwimmbäder", "to the", "in", "at the", "in",
        "walkable drivable bathing leisure"),
    _place("station", "Bahnhof", "m", "Bahnhöfe", "to the", "zu", "at the", "an",
        "walkable drivable runnable meeting_point"),
    _place("airport", "Flughafen", "m", "Flughäfen", "to the", "zu", "at the", "an",
        "drivable meeting_point workplace"),
    _place("bus stop", "Bushaltestelle", "f", "Bushaltestellen", "to the", "zu", "at the", "an",
        "walkable runnable meeting_point"),
    _place("school", "Schule", "f", "Schulen", "to the", "in", "in the", "in", "walkable"),
    _place("university", "Universität", "f", "Universitäten", "to the", "zu", "at the", "an",
        "walkable drivable workplace"),
    _place("office", "Büro", "n", "Büros", "to the", "in", "at the", "in", "walkable drivable workplace indoors"),
    _place("hospital", "Krankenhaus", "n", "Krankenhäuser", "to the", "in", "at the", "in",
        "walkable drivable workplace"),
    _place("bank", "Bank", "f", "Banken", "to the", "zu", "at the", "in", "walkable workplace"),
    _place("pharmacy", "Apotheke", "f", "Apotheken", "to the", "zu", "at the", "in", "walkable workplace"),
    _place("bakery", "Bäckerei", "f", "Bäckereien", "to the", "zu", "at the", "in", "walkable workplace shop"),
    _place("supermarket", "Supermarkt", "m", "Supermärkte", "to the", "in", "at the", "in",
        "walkable drivable workplace shop"),
    _place("market", "Markt", "m", "Märkte", "to the", "auf", "at the", "auf", "walkable shop market"),
    _place("library", "Bibliothek", "f", "Bibliotheken", "to the", "in", "in the", "in", "walkable workplace"),
    _place("church", "Kirche", "f", "Kirchen", "to the", "in", "in the", "in", "walkable"),
    _place("hotel", "Hotel", "n", "Hotels", "to the", "zu", "at the", "in", "walkable drivable workplace hotel"),
    _place("factory", "Fabrik", "f", "Fabriken", "to the", "zu", "in the", "in", "drivable workplace"),
    _place("village", "Dorf", "n", "Dörfer", "to the", "in", "in the", "in", "drivable village"),
    _place("city centre", "Stadtzentrum", "n", "Stadtzentren", "to the", "in", "in the", "in",
        "walkable drivable city_centre"),
    _place("kitchen", "Küche", "f", "Küchen", "into the", "in", "in the", "in", "rooms walkable runnable indoors"),
    _place("living room", "Wohnzimmer", "n", "Wohnzimmer", "into the", "in", "in the", "in",
        "rooms walkable runnable indoors playground"),
    _place("bedroom", "Schlafzimmer", "n", "Schlafzimmer", "into the", "in", "in the", "in",
        "rooms walkable bedroom"),
    _place("bathroom", "Badezimmer", "n", "Badezimmer", "into the", "in", "in the", "in", "rooms walkable"),
    _place("cellar", "Keller", "m", "Keller", "into the", "in", "in the", "in", "walkable runnable"),
    _place("balcony", "Balkon", "m", "Balkone", "onto the", "auf", "on the", "auf", "walkable resting outdoors"),
    _place("disco", "Disco", "f", "Discos", "to the", "in", "at the", "in", "walkable nightlife"),
)
# fmt: on
MOUNTAINS = Place(
    "mountains",
    None,
    frozenset({"mountains", "hiking", "drivable"}),
    fixed=("to the mountains", "in die Berge", "in the mountains", "in den Bergen"),
)
HOME = Place(
    "home",
    None,
    frozenset({"home", "walkable", "drivable"}),
    fixed=("home", "nach Hause", "at home", "zu Hause"),
)
WORK = Place(
    "work",
    None,
    frozenset({"work", "drivable", "walkable"}),
    fixed=("to work", "zur Arbeit", "at work", "bei der Arbeit"),
)
SCHOOL = Place(
    "school",
    None,
    frozenset({"school", "walkable"}),
    fixed=("to school", "zur Schule", "at school", "in der Schule"),
)
BED = Place("bed", None, frozenset({"bed", "walkable"}), fixed=("to bed", "ins Bett", "in bed", "im Bett"))
CITIES = tuple(
    Place(english, None, frozenset({"city"}), fixed=(f"to {english}", f"nach {german}", f"in {english}", f"in {german}"))
    for english, german in (
        ("Berlin", "Berlin"), ("Hamburg", "Hamburg"), ("Munich", "München"), ("Vienna", "Wien"),
        ("Cologne", "Köln"), ("London", "London"), ("Paris", "Paris"), ("Rome", "Rom"),
    )
)  # fmt: skip
COUNTRIES = tuple(
    Place(english, None, frozenset({"country"}), fixed=(f"to {english}", to, f"in {english}", at))
    for english, to, at in (
        ("Italy", "nach Italien", "in Italien"),
        ("Spain", "nach Spanien", "in Spanien"),
        ("France", "nach Frankreich", "in Frankreich"),
        ("Switzerland", "in die Schweiz", "in der Schweiz"),
        ("Austria", "nach Österreich", "in Österreich"),
    )
)
ALL_PLACES: tuple[Place, ...] = (*PLACES, MOUNTAINS, HOME, WORK, SCHOOL, BED, *CITIES, *COUNTRIES)
PLACE: dict[str, Place] = {place.name: place for place in PLACES}

MEANS = tuple(
    Adverbial(english, german, english)
    for english, german in (
        ("by bus", "mit dem Bus"),
        ("by train", "mit dem Zug"),
        ("by car", "mit dem Auto"),
        ("by bicycle", "mit dem Fahrrad"),
        ("by tram", "mit der Straßenbahn"),
        ("by taxi", "mit dem Taxi"),
    )
)  # fmt: skip
