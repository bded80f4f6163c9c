"""The generated demo corpus: an oracle of hand-written German, and the promises its splits make."""

import itertools
import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

FOLDER = Path(__file__).parents[2] / "scripts" / "demo_corpus"
sys.path.insert(0, str(FOLDER))

import adverbials  # noqa: E402
import clauses  # noqa: E402
import german  # noqa: E402
import modals  # noqa: E402
import phrases  # noqa: E402
import splits  # noqa: E402
from adjectives import ADJECTIVE, ADJECTIVES  # noqa: E402
from clauses import Clause, Predicate  # noqa: E402
from draws import Draw  # noqa: E402
from entries import Adverbial, Noun, Place, Verb  # noqa: E402
from nouns import NAMES, NOUNS  # noqa: E402
from numbers_and_times import clock_time, english_number, german_number  # noqa: E402
from patterns import PATTERNS  # noqa: E402
from phrases import Phrase, noun_phrase  # noqa: E402
from places import ALL_PLACES, MEANS, PLACES  # noqa: E402
from sentences import SentencePair  # noqa: E402
from verbs import VERBS  # noqa: E402

ALL_NOUNS = (*NOUNS, *(place.noun for place in PLACES if place.noun is not None))
TIMES = {
    time.english: time
    for group in (adverbials.PAST_TIMES, adverbials.FUTURE_TIMES, adverbials.HABITUAL_TIMES, adverbials.NOW_TIMES)
    for time in group
} | {time.english: time for time in (*adverbials.WEEKDAYS, *adverbials.FREQUENCIES, *adverbials.OPENERS, *MEANS)}
VERB: dict[str, Verb] = {}
for _verb in VERBS:
    VERB.setdefault(_verb.english.replace("~", " "), _verb)
    VERB[_verb.infinitive] = _verb
DETERMINERS = {
    "the": phrases.THE,
    "a": phrases.A,
    "an": phrases.A,
    "this": phrases.THIS,
    "these": phrases.THESE,
    "no": phrases.NO,
}
DETERMINERS |= {
    "many": phrases.MANY,
    "any": phrases.NOT_ANY,
    "not-a": phrases.NOT_A,
    "which": phrases.WHICH,
} | phrases.POSSESSIVE
DETERMINERS |= {english_number(value): phrases.number_determiner(value) for value in range(2, 13)}
PRONOUNS = {form: pronoun for pronoun in phrases.PRONOUNS for form in (pronoun.english, pronoun.english_object)}


def phrase(text: str) -> Phrase:
    """The phrase that a text like "the new lamps", "him" or "Anna" names."""
    if text in PRONOUNS or text == "who":
        return PRONOUNS.get(text, phrases.WHO)
    for name in NAMES:
        if text == name.name:
            return phrases.name_phrase(name)
    first, _, rest = text.partition(" ")
    determiner = DETERMINERS.get(first, phrases.BARE)
    rest = rest if first in DETERMINERS else text
    adjective = next((word for word in ADJECTIVES if rest.startswith(word.english + " ")), None)
    noun_text = rest.removeprefix(adjective.english + " ") if adjective else rest
    for noun in ALL_NOUNS:
        if noun_text in (noun.english, noun.english_plural):
            return noun_phrase(determiner, noun, adjective, plural=noun_text == noun.english_plural)
    raise LookupError(text)


def place(name: str, *, to: bool) -> Adverbial:
    chosen: Place = next(entry for entry in ALL_PLACES if entry.name == name)
    draw = Draw(Random(0))
    return draw.to_place(chosen, adjective=False) if to else draw.at_place(chosen, adjective=False)


def clause(
    subject: str, verb: str, direct: str = "", tense: str = "present", *, indirect: str = "", about: str = "",
    modal: str = "", time: str = "", often: str = "", at: str = "", to: str = "", by: str = "", negated: bool = False,
) -> Clause:  # fmt: skip
    """A clause in words: the subject does (verb) direct, to indirect, about a complement."""
    return Clause(
        phrase(subject), VERB[verb], tense,  # type: ignore[arg-type]
        modal=getattr(modals, modal) if modal else None,
        negated=negated,
        direct=phrase(direct) if direct else None,
        indirect=phrase(indirect) if indirect else None,
        complement=phrase(about) if about else None,
        time=TIMES[time] if time else None,
        frequency=TIMES[often] if often else None,
        means=TIMES[by] if by else None,
        place=place(at or to, to=bool(to)) if at or to else None,
    )  # fmt: skip


def spoken(made: Clause, form: str = "") -> tuple[str, str]:
    """Both sides of a clause as a statement ("front" for its time in front), a question, an imperative, a weil clause …"""
    if form == "front":
        front = made.time
        return clauses.english_statement(made, fronted=front), clauses.german_statement(made, fronted=front)
    if form in ("weil", "dass", "ob", "wenn"):
        return clauses.english_statement(made), clauses.german_subordinate(made, form)
    if form.startswith("?"):
        english, _, word = form[1:].partition("/")
        return clauses.english_question(made, question_word=english), clauses.german_question(made, question_word=word)
    if form == "!":
        return clauses.english_imperative(made), clauses.german_imperative(made)
    if form in ("zu", "um"):
        return clauses.english_infinitive(made), clauses.german_infinitive(made, "um" if form == "um" else "")
    return clauses.english_statement(made), clauses.german_statement(made)


# A phrase and its nominative, accusative and dative, written by hand.
DECLENSIONS = """
the old man | der alte Mann | den alten Mann | dem alten Mann
the young woman | die junge Frau | die junge Frau | der jungen Frau
the sad child | das traurige Kind | das traurige Kind | dem traurigen Kind
the old houses | die alten Häuser | die alten Häuser | den alten Häusern
a new table | ein neuer Tisch | einen neuen Tisch | einem neuen Tisch
a red lamp | eine rote Lampe | eine rote Lampe | einer roten Lampe
an old book | ein altes Buch | ein altes Buch | einem alten Buch
my small dog | mein kleiner Hund | meinen kleinen Hund | meinem kleinen Hund
our big flat | unsere große Wohnung | unsere große Wohnung | unserer großen Wohnung
his black car | sein schwarzes Auto | sein schwarzes Auto | seinem schwarzen Auto
her white cats | ihre weißen Katzen | ihre weißen Katzen | ihren weißen Katzen
your expensive coat | dein teurer Mantel | deinen teuren Mantel | deinem teuren Mantel
no good idea | keine gute Idee | keine gute Idee | keiner guten Idee
no new shoes | keine neuen Schuhe | keine neuen Schuhe | keinen neuen Schuhen
this fast train | dieser schnelle Zug | diesen schnellen Zug | diesem schnellen Zug
these short letters | diese kurzen Briefe | diese kurzen Briefe | diesen kurzen Briefen
which interesting novel | welcher interessante Roman | welchen interessanten Roman | welchem interessanten Roman
cold milk | kalte Milch | kalte Milch | kalter Milch
hot tea | heißer Tee | heißen Tee | heißem Tee
fresh bread | frisches Brot | frisches Brot | frischem Brot
two red apples | zwei rote Äpfel | zwei rote Äpfel | zwei roten Äpfeln
many old bridges | viele alte Brücken | viele alte Brücken | vielen alten Brücken
blue cars | blaue Autos | blaue Autos | blauen Autos
the boy | der Junge | den Jungen | dem Jungen
our friendly neighbour | unser freundlicher Nachbar | unseren freundlichen Nachbarn | unserem freundlichen Nachbarn
a patient student | ein geduldiger Student | einen geduldigen Studenten | einem geduldigen Studenten
the colleague | der Kollege | den Kollegen | dem Kollegen
the customers | die Kunden | die Kunden | den Kunden
the farmer | der Bauer | den Bauern | dem Bauern
their nephew | ihr Neffe | ihren Neffen | ihrem Neffen
the high price | der hohe Preis | den hohen Preis | dem hohen Preis
the saleswomen | die Verkäuferinnen | die Verkäuferinnen | den Verkäuferinnen
the museums | die Museen | die Museen | den Museen
the girl | das Mädchen | das Mädchen | dem Mädchen
your parents | deine Eltern | deine Eltern | deinen Eltern
I | ich | mich | mir
you | du | dich | dir
he | er | ihn | ihm
she | sie | sie | ihr
we | wir | uns | uns
they | sie | sie | ihnen
"""

# A verb with ich, du, er, wir, its perfect and its infinitive with zu.
CONJUGATIONS = """
lesen | lese, liest, liest, lesen | hat gelesen | zu lesen
nehmen | nehme, nimmst, nimmt, nehmen | hat genommen | zu nehmen
schlafen | schlafe, schläfst, schläft, schlafen | hat geschlafen | zu schlafen
fahren | fahre, fährst, fährt, fahren | ist gefahren | zu fahren
arbeiten | arbeite, arbeitest, arbeitet, arbeiten | hat gearbeitet | zu arbeiten
finden | finde, findest, findet, finden | hat gefunden | zu finden
tanzen | tanze, tanzt, tanzt, tanzen | hat getanzt | zu tanzen
schließen | schließe, schließt, schließt, schließen | hat geschlossen | zu schließen
zeichnen | zeichne, zeichnest, zeichnet, zeichnen | hat gezeichnet | zu zeichnen
reisen | reise, reist, reist, reisen | ist gereist | zu reisen
essen | esse, isst, isst, essen | hat gegessen | zu essen
vergessen | vergesse, vergisst, vergisst, vergessen | hat vergessen | zu vergessen
waschen | wasche, wäschst, wäscht, waschen | hat gewaschen | zu waschen
laufen | laufe, läufst, läuft, laufen | ist gelaufen | zu laufen
helfen | helfe, hilfst, hilft, helfen | hat geholfen | zu helfen
wandern | wandere, wanderst, wandert, wandern | ist gewandert | zu wandern
ändern | ändere, änderst, ändert, ändern | hat geändert | zu ändern
reparieren | repariere, reparierst, repariert, reparieren | hat repariert | zu reparieren
verkaufen | verkaufe, verkaufst, verkauft, verkaufen | hat verkauft | zu verkaufen
besuchen | besuche, besuchst, besucht, besuchen | hat besucht | zu besuchen
anrufen | rufe, rufst, ruft, rufen | hat angerufen | anzurufen
einladen | lade, lädst, lädt, laden | hat eingeladen | einzuladen
aufstehen | stehe, stehst, steht, stehen | ist aufgestanden | aufzustehen
vorbereiten | bereite, bereitest, bereitet, bereiten | hat vorbereitet | vorzubereiten
anprobieren | probiere, probierst, probiert, probieren | hat anprobiert | anzuprobieren
übersetzen | übersetze, übersetzt, übersetzt, übersetzen | hat übersetzt | zu übersetzen
bleiben | bleibe, bleibst, bleibt, bleiben | ist geblieben | zu bleiben
wissen | weiß, weißt, weiß, wissen | hat gewusst | zu wissen
sein | bin, bist, ist, sind | ist gewesen | zu sein
haben | habe, hast, hat, haben | hat gehabt | zu haben
"""

# A clause, its form, and both sides as a careful writer would put them.
SENTENCES: list[tuple[Clause, str, str, str]] = [
    (clause("he", "call", "his mother"), "", "he calls his mother", "er ruft seine Mutter an"),
    (clause("he", "call", "his mother"), "weil", "he calls his mother", "weil er seine Mutter anruft"),
    (clause("he", "call", "his mother", "past"), "", "he called his mother", "er hat seine Mutter angerufen"),
    (clause("he", "call", "his mother", "past"), "dass", "he called his mother", "dass er seine Mutter angerufen hat"),
    (clause("he", "call", "his mother", modal="HAVE_TO"), "ob",
     "he has to call his mother", "ob er seine Mutter anrufen muss"),
    (clause("he", "call", "his mother"), "um", "to call his mother", "um seine Mutter anzurufen"),
    (clause("Anna", "turn off", "the lamp", negated=True), "",
     "Anna does not turn off the lamp", "Anna schaltet die Lampe nicht aus"),
    (clause("you", "turn on", "the radio"), "!", "turn on the radio", "schalte bitte das Radio ein"),
    (clause("you", "take", "the train"), "!", "take the train", "nimm bitte den Zug"),
    (clause("you", "read", "this letter", negated=True), "!",
     "do not read this letter", "lies bitte diesen Brief nicht"),
    (clause("I", "buy", "a table", "going_to", time="tomorrow"), "front",
     "tomorrow I am going to buy a table", "morgen kaufe ich einen Tisch"),
    (clause("I", "buy", "a table", "future", time="tomorrow"), "",
     "I will buy a table tomorrow", "ich werde morgen einen Tisch kaufen"),
    (clause("she", "read", "the book", "progressive"), "", "she is reading the book", "sie liest gerade das Buch"),
    (clause("we", "eat", "not-a cake", negated=True), "", "we do not eat a cake", "wir essen keinen Kuchen"),
    (clause("they", "drink", "any milk", "past", negated=True), "",
     "they did not drink any milk", "sie haben keine Milch getrunken"),
    (clause("she", "sell", "the car", "past", negated=True, time="yesterday"), "",
     "she did not sell the car yesterday", "sie hat gestern das Auto nicht verkauft"),
    (clause("he", "go", "", "past", to="cinema", negated=True), "",
     "he did not go to the cinema", "er ist nicht ins Kino gegangen"),
    (clause("I", "wait for", about="the bus", negated=True), "",
     "I do not wait for the bus", "ich warte nicht auf den Bus"),
    (clause("he", "help", "the farmer", often="often"), "", "he often helps the farmer", "er hilft dem Bauern oft"),
    (clause("we", "read", "the newspaper", often="often"), "",
     "we often read the newspaper", "wir lesen oft die Zeitung"),
    (clause("you", "call", "me", time="tomorrow"), "!", "call me tomorrow", "ruf mich bitte morgen an"),
    (clause("you", "watch", "the film"), "!", "watch the film", "sieh dir bitte den Film an"),
    (clause("you", "give", "the key", indirect="us"), "!", "give us the key", "gib uns bitte den Schlüssel"),
    (clause("she", "thank", "them", "past"), "", "she thanked them", "sie hat ihnen gedankt"),
    (clause("Paul", "give", "a ring", "past", indirect="her"), "",
     "Paul gave her a ring", "Paul hat ihr einen Ring gegeben"),
    (clause("we", "show", "the house", "future", indirect="our neighbour"), "",
     "we will show our neighbour the house", "wir werden unserem Nachbarn das Haus zeigen"),
    (clause("I", "explain", "the rule", "past", indirect="the children"), "",
     "I explained the rule to the children", "ich habe den Kindern die Regel erklärt"),
    (clause("you", "follow", "the dog", "past"), "", "you followed the dog", "du bist dem Hund gefolgt"),
    (clause("Lena", "look forward to", about="the holidays", time="today"), "front",
     "today Lena looks forward to the holidays", "heute freut sich Lena auf die Ferien"),
    (clause("we", "look forward to", about="the trip"), "weil",
     "we look forward to the trip", "weil wir uns auf die Reise freuen"),
    (clause("they", "be interested in", about="music"), "",
     "they are interested in music", "sie interessieren sich für Musik"),
    (clause("I", "take part in", about="the course", modal="WOULD_LIKE"), "",
     "I would like to take part in the course", "ich möchte am Kurs teilnehmen"),
    (clause("you", "watch", "the film", modal="WANT"), "?/",
     "do you want to watch the film", "willst du dir den Film ansehen"),
    (clause("I", "watch", "a game", "past"), "", "I watched a game", "ich habe mir ein Spiel angesehen"),
    (clause("she", "hurry", modal="MUST", time="now"), "", "she must hurry now", "sie muss sich jetzt beeilen"),
    (clause("you", "lose", "the key", modal="MAY_NOT", negated=True), "",
     "you must not lose the key", "du darfst den Schlüssel nicht verlieren"),
    (clause("he", "clean", "the window", modal="HAVE_TO", negated=True), "",
     "he does not have to clean the window", "er muss das Fenster nicht putzen"),
    (clause("I", "open", "the door", "past", modal="CAN", negated=True), "",
     "I could not open the door", "ich konnte die Tür nicht aufmachen"),
    (clause("she", "understand", "the text", modal="CAN", negated=True), "",
     "she cannot understand the text", "sie kann den Text nicht verstehen"),
    (clause("they", "go out", "", "past", modal="ALLOWED", time="yesterday evening"), "front",
     "yesterday evening they were allowed to go out", "gestern Abend durften sie ausgehen"),
    (clause("she", "read", "novels", modal="LIKE"), "", "she likes to read novels", "sie liest gern Romane"),
    (clause("I", "drink", "tea", modal="PREFER", time="in the evening"), "",
     "I prefer to drink tea in the evening", "ich trinke am Abend lieber Tee"),
    (clause("he", "fahren", time="every day", by="by bus", to="work"), "",
     "he goes to work by bus every day", "er fährt jeden Tag mit dem Bus zur Arbeit"),
    (clause("we", "drive", "", "past", to="sea"), "", "we drove to the sea", "wir sind ans Meer gefahren"),
    (clause("she", "fly", "", "future", to="Switzerland", time="next week"), "",
     "she will fly to Switzerland next week", "sie wird nächste Woche in die Schweiz fliegen"),
    (clause("my uncle", "work", at="hospital"), "",
     "my uncle works at the hospital", "mein Onkel arbeitet im Krankenhaus"),
    (clause("I", "wait", "", "past", at="station"), "", "I waited at the station", "ich habe am Bahnhof gewartet"),
    (clause("he", "buy", "rolls", "past", at="bakery"), "",
     "he bought rolls at the bakery", "er hat in der Bäckerei Brötchen gekauft"),
    (clause("he", "read", "the book", "progressive", at="garden"), "",
     "he is reading the book in the garden", "er liest gerade das Buch im Garten"),
    (clause("we", "run", "", "past", to="kitchen"), "", "we ran into the kitchen", "wir sind in die Küche gelaufen"),
    (clause("you", "go", "", "future", to="market"), "?/", "will you go to the market", "wirst du auf den Markt gehen"),
    (clause("your brother", "repair", "the bicycle", "progressive"), "?/",
     "is your brother repairing the bicycle", "repariert dein Bruder gerade das Fahrrad"),
    (clause("who", "repair", "the roof", "past"), "", "who repaired the roof", "wer hat das Dach repariert"),
    (clause("she", "buy", "the red lamp", "past"), "?where/wo",
     "where did she buy the red lamp", "wo hat sie die rote Lampe gekauft"),
    (clause("you", "go", "", "future", time="tomorrow"), "?where/wohin",
     "where will you go tomorrow", "wohin wirst du morgen gehen"),
    (clause("the train", "abfahren", time="on Monday"), "?when/wann",
     "when does the train leave on Monday", "wann fährt der Zug am Montag ab"),
    (clause("you", "read", "", "past"), "?which book/welches Buch",
     "which book did you read", "welches Buch hast du gelesen"),
    (clause("I", "pick up", "him", "future", at="airport"), "",
     "I will pick him up at the airport", "ich werde ihn am Flughafen abholen"),
    (clause("I", "have", "no money"), "", "I have no money", "ich habe kein Geld"),
    (clause("we", "have", "any time", "past", negated=True), "", "we did not have any time", "wir hatten keine Zeit"),
    (clause("Anna", "live", "", "perfect_progressive", at="Munich"), "",
     "Anna has been living in Munich", "Anna wohnt in München"),
    (clause("the boys", "wake up", "", "past"), "wenn", "the boys woke up", "wenn die Jungen aufgewacht sind"),
    (clause("the student", "fall asleep"), "weil", "the student falls asleep", "weil der Student einschläft"),
    (clause("he", "have lunch", time="on Fridays"), "", "he has lunch on Fridays", "er isst freitags zu Mittag"),
    (clause("he", "have lunch"), "dass", "he has lunch", "dass er zu Mittag isst"),
    (clause("they", "watch television", modal="ALLOWED", negated=True), "",
     "they are not allowed to watch television", "sie dürfen nicht fernsehen"),
    (clause("the bicycle", "belong to", "my nephew"), "",
     "the bicycle belongs to my nephew", "das Fahrrad gehört meinem Neffen"),
    (clause("I", "dream of", about="a new car"), "", "I dream of a new car", "ich träume von einem neuen Auto"),
    (clause("he", "apologise to", about="the teacher", tense="past"), "",
     "he apologised to the teacher", "er hat sich beim Lehrer entschuldigt"),
]  # fmt: skip

CLOCK = """
7:00 | at seven o'clock | um sieben Uhr
1:00 | at one o'clock | um ein Uhr
7:30 | at half past seven | um halb acht
12:30 | at half past twelve | um halb eins
3:15 | at a quarter past three | um Viertel nach drei
1:15 | at a quarter past one | um Viertel nach eins
5:45 | at a quarter to six | um Viertel vor sechs
8:55 | at five to nine | um fünf vor neun
12:40 | at twenty to one | um zwanzig vor eins
4:10 | at ten past four | um zehn nach vier
"""
NUMBERS = """
2 | two | zwei
16 | sixteen | sechzehn
17 | seventeen | siebzehn
21 | twenty-one | einundzwanzig
30 | thirty | dreißig
67 | sixty-seven | siebenundsechzig
100 | one hundred | einhundert
250 | two hundred and fifty | zweihundertfünfzig
"""


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


@pytest.mark.parametrize(("text", "nominative", "accusative", "dative"), rows(DECLENSIONS))
def test_noun_phrases_agree_in_gender_number_and_case(text: str, nominative: str, accusative: str, dative: str) -> None:
    made = phrase(text)
    assert [made.german[case] for case in ("nominative", "accusative", "dative")] == [nominative, accusative, dative]
    assert made.english == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [("the old house", "des alten Hauses"), ("our neighbour", "unseres Nachbarn"), ("a bus", "eines Busses"),
     ("the small kitchen", "der kleinen Küche"),
     ("my grandparents", "meiner Großeltern"), ("the child", "des Kindes")],
)  # fmt: skip
def test_genitive(text: str, expected: str) -> None:
    assert phrase(text).german["genitive"] == expected


@pytest.mark.parametrize(("infinitive", "present", "perfect", "with_zu"), rows(CONJUGATIONS))
def test_verb_forms(infinitive: str, present: str, perfect: str, with_zu: str) -> None:
    verb = VERB[infinitive]
    assert ", ".join(german.present(verb, person) for person in german.PERSONS) == present
    assert f"{german.perfect_auxiliary(verb, 'er')} {german.participle(verb)}" == perfect
    assert german.zu_infinitive(verb) == with_zu


@pytest.mark.parametrize(("made", "form", "english", "expected"), SENTENCES, ids=[row[2] for row in SENTENCES])
def test_sentences_read_as_a_careful_writer_would_put_them(made: Clause, form: str, english: str, expected: str) -> None:
    assert spoken(made, form) == (english, expected)


def test_predicates_names_genitives_and_it() -> None:
    lamp = phrase("the lamp")
    be = replace(clause("the lamp", "sein"), predicate=Predicate("too small", "zu klein"))
    assert spoken(be) == ("the lamp is too small", "die Lampe ist zu klein")
    assert spoken(replace(be, subject=phrases.it_for(lamp), tense="past")) == ("it was too small", "sie war zu klein")
    assert phrases.it_for(phrase("a key")).german["accusative"] == "ihn"
    assert phrases.owner_phrase(NAMES[0], lamp_noun(), ADJECTIVE["new"]).german["dative"] == "Annas neuer Lampe"
    roof = phrases.genitive_phrase(phrase("the roof"), phrase("the old house"))
    assert (roof.english, roof.german["nominative"]) == ("the roof of the old house", "das Dach des alten Hauses")


def lamp_noun() -> Noun:
    return next(noun for noun in NOUNS if noun.english == "lamp")


def test_two_way_prepositions_contract_with_the_article() -> None:
    assert german.contracted("in", "dem Garten") == "im Garten"
    assert german.contracted("in", "das Kino", places=True) == "ins Kino"
    assert german.contracted("zu", "der Schule") == "zur Schule"
    assert german.contracted("auf", "den Tisch") == "auf den Tisch"
    assert german.contracted("an", "das Konzert") == "an das Konzert"


@pytest.mark.parametrize(("time", "english", "expected"), rows(CLOCK))
def test_times_of_day(time: str, english: str, expected: str) -> None:
    hour, minute = time.split(":")
    assert clock_time(int(hour), int(minute)) == (english, expected)


@pytest.mark.parametrize(("value", "english", "expected"), rows(NUMBERS))
def test_numbers(value: str, english: str, expected: str) -> None:
    assert (english_number(int(value)), german_number(int(value))) == (english, expected)


@pytest.fixture(scope="module")
def corpus() -> splits.Corpus:
    return splits.build_corpus(1)


def held_out(corpus: splits.Corpus) -> tuple[SentencePair, ...]:
    return (*corpus.validation, *corpus.test)


def tokens(line: str) -> list[str]:
    return [word.strip(".,?").lower() for word in line.split()]


def test_sizes_and_one_translation_for_each_sentence(corpus: splits.Corpus) -> None:
    everything = (*corpus.train, *held_out(corpus))
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == (36_000, 300, 500)
    assert len({pair.english for pair in everything}) == len(everything) > 30_000


def test_no_held_out_sentence_and_no_held_out_combination_occurs_in_training(corpus: splits.Corpus) -> None:
    english, german_side = {pair.english for pair in corpus.train}, {pair.german for pair in corpus.train}
    trained = frozenset().union(*(pair.pairs for pair in corpus.train))
    for split in ("validation", "test"):
        for pair in getattr(corpus, split):
            assert pair.english not in english
            assert pair.german not in german_side
            assert any(splits.home_of(combination) == split and combination not in trained for combination in pair.pairs)


def test_held_out_adjective_and_noun_never_stand_together_in_training_text(corpus: splits.Corpus) -> None:
    """The same promise, read off the text itself."""
    lines = [" ".join(tokens(pair.english)) for pair in corpus.train]
    neighbours = {f"{first} {second}" for line in lines for first, second in itertools.pairwise(line.split())}
    checked = 0
    for combination in sorted(frozenset().union(*(pair.pairs for pair in corpus.test))):
        adjective, _, noun = combination.partition(" + ")
        entry = next((entry for entry in ALL_NOUNS if entry.english == noun), None)
        single_words = " " not in adjective + noun
        if adjective in ADJECTIVE and entry and single_words and splits.home_of(combination) == "test":
            assert not {f"{adjective} {entry.english}", f"{adjective} {entry.english_plural}"} & neighbours, combination
            checked += 1
    assert checked >= 30


def test_every_word_of_the_held_out_splits_is_learned_in_training(corpus: splits.Corpus) -> None:
    for side in ("english", "german"):
        counts = Counter(word for pair in corpus.train for word in tokens(getattr(pair, side)))
        rarest = min(counts[word] for pair in held_out(corpus) for word in tokens(getattr(pair, side)))
        assert rarest >= splits.MINIMUM_COUNT


def test_the_lexicon_has_its_entries_and_uses_them(corpus: splits.Corpus) -> None:
    english = " ".join(pair.english for pair in corpus.train).lower()
    german_words = {word for pair in corpus.train for word in tokens(pair.german)}
    for noun in ALL_NOUNS:
        assert re.search(rf"\b({noun.english}|{noun.english_plural})\b", english), noun.english
    for adjective in ADJECTIVES:
        assert re.search(rf"\b{adjective.english}\b", english), adjective.english
    for verb in VERBS:
        forms = {verb.infinitive, german.participle(verb), *(german.present(verb, person) for person in german.PERSONS)}
        assert {form.lower() for form in forms} & german_words, verb.german
    verbs = {(verb.english, verb.german) for verb in VERBS}
    assert len({noun.german for noun in ALL_NOUNS}) + len(ADJECTIVES) + len(verbs) >= 400


def test_every_kind_that_an_entry_selects_exists() -> None:
    """A misspelt kind would silently select nothing."""
    kinds = frozenset().union(*(noun.kinds for noun in ALL_NOUNS), {"names", "all", "kin_friends"})
    place_kinds = frozenset().union(*(entry.kinds for entry in ALL_PLACES))
    for adjective in ADJECTIVES:
        assert adjective.kinds <= kinds, (adjective.english, adjective.kinds - kinds)
    for verb in VERBS:
        selected = verb.objects | verb.recipients | verb.complements
        assert selected <= kinds, (verb.english, selected - kinds)
        assert verb.places <= place_kinds, (verb.english, verb.places - place_kinds)


def test_sentences_are_well_formed(corpus: splits.Corpus) -> None:
    for pair in (*corpus.train, *held_out(corpus)):
        for line in (pair.english, pair.german):
            assert re.fullmatch(r"[A-ZÄÖÜ][\w'’, -]*[.?]", line), line
            assert "  " not in line
        assert 4 <= len(pair.english.split()) <= 16
        assert not re.search(r"[^,] (weil|dass|ob|wenn|aber|deshalb) ", pair.german), pair.german
        assert not re.search(r"\b(in dem|an dem|zu dem|zu der|von dem|bei dem|in das) (?!\w+, )", pair.german), pair.german
        assert not re.search(r"\ba [aeio]|\ban [^aeiouh]", pair.english), pair.english


def test_every_pattern_contributes() -> None:
    for pattern, _ in PATTERNS:
        draw = Draw(Random(5))
        assert any(splits._draw_one(pattern, draw) for _ in range(500)), pattern.__name__


def test_another_seed_draws_other_sentences() -> None:
    pattern = PATTERNS[0][0]
    first, second = ([splits._draw_one(pattern, Draw(Random(seed))) for _ in range(5)] for seed in ("1", "2"))
    assert first != second


def test_the_command_writes_six_files_and_is_deterministic(tmp_path: Path, corpus: splits.Corpus) -> None:
    command = [sys.executable, str(FOLDER), "--output", str(tmp_path / "corpus"), "--seed", "1"]
    subprocess.run(command, check=True, capture_output=True)
    for split in ("train", "validation", "test"):
        for suffix, side in (("en", "english"), ("de", "german")):
            written = (tmp_path / "corpus" / f"{split}.{suffix}").read_bytes()
            assert written == "".join(f"{getattr(pair, side)}\n" for pair in getattr(corpus, split)).encode()
    assert len(list((tmp_path / "corpus").iterdir())) == 6


def test_an_output_that_cannot_be_a_folder_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    command = [sys.executable, str(FOLDER), "--output", str(tmp_path / "taken")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.startswith("Error: ")
    assert "taken" in result.stderr
