"""The adjectives: English, German, the kinds of noun they suit, comparatives. Nothing here inflects."""

from entries import Adjective, words

_GOODS = "clothes furniture devices own_vehicles luggage boxes toys gifts dishes"


def _adjective(
    english: str,
    german: str,
    kinds: str,
    english_comparative: str = "",
    comparative: str = "",
    *,
    stem: str = "",
) -> Adjective:
    stem = stem or german
    return Adjective(
        english,
        german,
        words(kinds.replace("goods", _GOODS)),
        stem,
        english_comparative or f"more {english}",
        comparative or german + "er",
    )


# fmt: off
ADJECTIVES = (
    _adjective(
        "new", "neu",
        "goods cinema restaurant café swimming_pool station supermarket hotel library school hospital texts "
        "own_vehicles homes starts_on pictures calendar contract printer song idea plan recipe rule",
        "newer",
    ),
    _adjective(
        "old", "alt",
        "goods station church theatre cinema hotel factory village school library pharmacy texts homes "
        "buildings animals grown rooms public photo song letter tree city",
        "older", "älter",
    ),
    _adjective("young", "jung", "grown animals", "younger", "jünger"),
    _adjective(
        "big", "groß",
        "goods park garden supermarket market airport factory hospital homes buildings animals rooms city "
        "openings tree mistake party fruits cake picture",
        "bigger", "größer",
    ),
    _adjective(
        "small", "klein",
        "goods park garden café restaurant bakery village hotel lake church balcony office homes buildings "
        "animals rooms city openings tree mistake party fruits cake picture key",
        "smaller",
    ),
    _adjective("tall", "groß", "people kin", "taller", "größer"),
    _adjective(
        "beautiful", "schön",
        "park garden beach lake village church hotel café balcony clothes furniture homes flower vase doll "
        "picture photo song poem city dress trip ring horse guitar",
        "more beautiful",
    ),
    _adjective(
        "expensive", "teuer",
        "goods homes texts ring ticket wine trip",
        "more expensive", "teurer", stem="teur",
    ),
    _adjective(
        "cheap", "billig",
        "clothes furniture devices own_vehicles luggage toys dishes ticket wine flat",
        "cheaper",
    ),
    _adjective(
        "good", "gut",
        "texts story report recipe wine cheese coffee cake film concert course idea plan answer friend "
        "question camera soup bread",
        "better", "besser",
    ),
    _adjective("heavy", "schwer", "luggage boxes parcel furniture washing_machine printer dictionary", "heavier"),
    _adjective(
        "red", "rot",
        "clothes own_vehicles bag suitcase backpack cup vase ball pencil apple flower umbrella lamp sofa "
        "carpet door roof",
        "redder", "röter",
    ),
    _adjective(
        "blue", "blau",
        "clothes own_vehicles bag suitcase backpack cup vase ball pencil umbrella lamp sofa carpet door plate",
        "bluer",
    ),
    _adjective(
        "green", "grün",
        "clothes own_vehicles bag suitcase backpack cup vase ball pencil umbrella lamp sofa carpet door apple "
        "bottle",
        "greener",
    ),
    _adjective(
        "yellow", "gelb",
        "clothes own_vehicles bag backpack cup vase ball pencil umbrella lamp flower house tram",
        "yellower",
    ),
    _adjective(
        "black", "schwarz",
        "clothes own_vehicles luggage umbrella dog cat horse sofa desk mobile_phone camera",
        "blacker", "schwärzer",
    ),
    _adjective(
        "white", "weiß",
        "clothes own_vehicles cat horse cup plate vase carpet cupboard rabbit duck flower house",
        "whiter",
    ),
    _adjective("grey", "grau", "clothes own_vehicles luggage cat mouse house carpet sofa", "greyer"),
    _adjective("brown", "braun", "clothes bag suitcase dog horse cow armchair table carpet", "browner"),
    _adjective(
        "clean", "sauber",
        "clothes dishes cutlery openings rooms car mirror",
        "cleaner", "sauberer", stem="sauber",
    ),
    _adjective("dirty", "schmutzig", "clothes dishes cutlery openings rooms own_vehicles mirror carpet", "dirtier"),
    _adjective("empty", "leer", "luggage boxes dishes drawer cupboard fridge rooms homes shelf", "emptier"),
    _adjective("fresh", "frisch", "fruits tomato carrot egg roll salad bread fish meat milk butter juice", "fresher"),
    _adjective("warm", "warm", "coat jacket sweater boot glove scarf cap soup room bread milk", "warmer", "wärmer"),
    _adjective("hot", "heiß", "soup hot_drinks water", "hotter"),
    _adjective("cold", "kalt", "cold_drinks soup tea room pizza", "colder", "kälter"),
    _adjective("sweet", "süß", "fruits cake biscuit tea lemonade wine", "sweeter"),
    _adjective("ripe", "reif", "fruits tomato", "riper"),
    _adjective(
        "interesting", "interessant",
        "texts writings letters shows exhibition course trip idea question language",
        "more interesting",
    ),
    _adjective("boring", "langweilig", "texts writings shows exhibition course party meeting", "more boring"),
    _adjective("exciting", "spannend", "book novel story shows trip report", "more exciting"),
    _adjective(
        "important", "wichtig",
        "letters passport contract form bill report meeting exam question rule word plan",
        "more important",
    ),
    _adjective("difficult", "schwierig", "asked text exam language word rule", "more difficult"),
    _adjective("easy", "einfach", "asked text exam language rule recipe", "easier", "einfacher"),
    _adjective(
        "long", "lang",
        "letters writings texts coat dress scarf street bridge trip film sentence word meeting",
        "longer", "länger",
    ),
    _adjective(
        "short", "kurz",
        "letters writings dress skirt coat trip film sentence word meeting",
        "shorter", "kürzer",
    ),
    _adjective("high", "hoch", "price", "higher", "höher", stem="hoh"),
    _adjective(
        "modern", "modern",
        "museum airport office hospital library university factory swimming_pool furniture devices homes "
        "buildings kitchen tram",
        "more modern",
    ),
    _adjective("comfortable", "bequem", "chair soft shoe boot sweater", "more comfortable"),
    _adjective("fast", "schnell", "vehicles dog horse computer printer", "faster"),
    _adjective("slow", "langsam", "vehicles computer printer waiter", "slower"),
    _adjective("funny", "lustig", "book novel story jokes shows song poem child dog uncle", "funnier"),
    _adjective("sad", "traurig", "story film song poem novel child", "sadder"),
    _adjective("loud", "laut", "washing_machine party music child street radio", "louder"),
    _adjective("quiet", "ruhig", "street flat child student guest", "quieter"),
    _adjective("dangerous", "gefährlich", "street trip motorbike", "more dangerous"),
    _adjective(
        "broken", "kaputt",
        "devices own_vehicles lamp chair toys umbrella openings glass guitar",
        "more broken",
    ),
    _adjective("nice", "nett", "people kin letter", "nicer"),
    _adjective("friendly", "freundlich", "people kin", "friendlier"),
    _adjective("polite", "höflich", "people", "more polite"),
    _adjective("clever", "klug", "people kin animals", "cleverer", "klüger"),
    _adjective("hard-working", "fleißig", "people kin", "more hard-working"),
    _adjective("lazy", "faul", "pupil student brother sister nephew niece cat son daughter", "lazier"),
    _adjective("patient", "geduldig", "people kin", "more patient"),
    _adjective("strong", "stark", "man boy farmer brother horse policeman son", "stronger", "stärker"),
    _adjective("rich", "reich", "man woman farmer uncle aunt actress engineer customer", "richer"),
    _adjective("famous", "berühmt", "man woman actress engineer novel film song picture bridge doctor", "more famous"),
    _adjective("happy", "glücklich", "people kin", "happier"),
    _adjective("tired", "müde", "people kin animals", "more tired", "müder", stem="müd"),
    _adjective("hungry", "hungrig", "people kin animals", "hungrier"),
    _adjective("ill", "krank", "people kin pet horse cow", "more ill", "kränker"),
    _adjective("healthy", "gesund", "people kin pet horse cow", "healthier", "gesünder"),
    _adjective("nervous", "nervös", "people kin", "more nervous"),
    _adjective("angry", "wütend", "people kin", "angrier"),
    _adjective("thirsty", "durstig", "people kin animals", "thirstier"),
)
# fmt: on
ADJECTIVE: dict[str, Adjective] = {adjective.english: adjective for adjective in ADJECTIVES}

COLOURS = ("red", "blue", "green", "yellow", "black", "white", "grey", "brown")
NO_COMPARISON = frozenset([*COLOURS, "broken", "ill", "empty", "ripe", "tired", "angry", "hungry", "thirsty", "nervous"])
STATES = (
    "happy",
    "tired",
    "hungry",
    "ill",
    "healthy",
    "nervous",
    "angry",
    "thirsty",
)  # how a person is today

# Adjectives of a passing state say something only with these verbs: one washes the dirty cup and drinks the hot tea.
PASSING: dict[str, frozenset[str]] = {
    adjective: frozenset(verb.replace("_", " ") for verb in verbs.split())
    for adjective, verbs in {
        "clean": "put~on wear need",
        "dirty": "wash clean",
        "broken": "repair throw~away",
        "empty": "throw~away bring~back carry",
        "hot": "drink bring",
        "cold": "drink eat order bring offer",
        "warm": "wear buy need drink eat look_for find try~on",
        "fresh": "buy eat drink bring order cook cut",
        "ripe": "buy eat",
        "hungry": "feed",
        "ill": "take_care_of worry_about",
    }.items()
} | dict.fromkeys(("tired", "thirsty", "healthy", "nervous", "angry", "happy", "sad"), frozenset())
