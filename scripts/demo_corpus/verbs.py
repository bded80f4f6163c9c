"""The verbs: principal parts in both languages, what they govern, which kinds of noun they select.

Nothing here conjugates. German principal parts appear only where the rule would fail: `third` for a changed stem (nimmt),
`participle` for strong verbs (genommen). `|` marks a separable prefix, `~` a movable English particle.
"""

from typing import Literal

from entries import Case, Verb, words

EVERYTHING_SOLD = "foods groceries texts clothes furniture devices own_vehicles luggage boxes gifts dishes toys small"
BELONGINGS = "small luggage toys mobile_phone camera umbrella cap scarf glove doll photo book letter passport"


def _verb(
    english: str,
    german: str,
    past: str,
    ing: str = "",
    *,
    third: str = "",
    participle: str = "",
    sein: bool = False,
    reflexive: Literal["", "accusative", "dative"] = "",
    objects: str = "",
    case: Case = "accusative",
    recipients: str = "",
    preposition: str = "",
    governs: Case = "accusative",
    complements: str = "",
    places: str = "",
    determiners: Literal["any", "definite", "own", "indefinite"] = "any",
    stative: bool = False,
    timeless: bool = False,
    english_to: bool = False,
) -> Verb:
    return Verb(
        english=english,
        german=german,
        english_past=past,
        english_ing=ing or english.replace("~", " ").split()[0] + "ing",
        third=third,
        participle=participle,
        auxiliary="sein" if sein else "haben",
        reflexive=reflexive,
        objects=words(objects),
        object_case=case,
        recipients=words(recipients),
        preposition=preposition,
        complement_case=governs,
        complements=words(complements),
        places=words(places),
        determiners=determiners,
        stative=stative,
        timeless=timeless,
        english_to=english_to,
    )


# fmt: off
TRANSITIVE = (
    _verb("buy", "kaufen", "bought", objects=EVERYTHING_SOLD + " drinks ticket"),
    _verb("sell", "verkaufen", "sold", objects="furniture devices own_vehicles house flat guitar"),
    _verb("eat", "essen", "ate", third="isst", participle="gegessen", objects="foods groceries"),
    _verb("drink", "trinken", "drank", participle="getrunken", objects="drinks"),
    _verb("order", "bestellen", "ordered", objects="meals drinks cake book novel sofa printer"),
    _verb("read", "lesen", "read", third="liest", participle="gelesen", objects="texts letters writings texts_short"),
    _verb("write", "schreiben", "wrote", "writing", participle="geschrieben", objects="letters writings novel"),
    _verb("cook", "kochen", "cooked", objects="soup rice potato egg meat"),
    _verb("bake", "backen", "baked", "baking", participle="gebacken", objects="baked pizza"),
    _verb("wash", "waschen", "washed", third="wäscht", participle="gewaschen",
        objects="car clothes fruits tomato carrot"),
    _verb("clean", "putzen", "cleaned", objects="openings shoe boot mirror kitchen bathroom room",
        determiners="definite"),
    _verb("repair", "reparieren", "repaired", objects="devices own_vehicles lamp chair roof doll",
        determiners="definite"),
    _verb("open", "auf|machen", "opened", objects="openings boxes bottle letter present", determiners="definite"),
    _verb("close", "schließen", "closed", "closing", participle="geschlossen",
        objects="openings drawer book suitcase cupboard", determiners="definite"),
    _verb("turn~on", "ein|schalten", "turned", objects="switched", determiners="definite"),
    _verb("turn~off", "aus|schalten", "turned", objects="switched", determiners="definite"),
    _verb("call", "an|rufen", "called", participle="angerufen", objects="people kin names", determiners="definite"),
    _verb("visit", "besuchen", "visited", objects="known kin names exhibition", determiners="definite"),
    _verb("invite", "ein|laden", "invited", "inviting", third="lädt", participle="eingeladen",
        objects="known kin names", determiners="definite", stative=True),
    _verb("meet", "treffen", "met", third="trifft", participle="getroffen", objects="known stranger kin names",
        determiners="definite"),
    _verb("see", "sehen", "saw", third="sieht", participle="gesehen", objects="people kin animals names public",
        stative=True),
    _verb("look for", "suchen", "looked", objects=BELONGINGS + " pet", determiners="definite"),
    _verb("find", "finden", "found", participle="gefunden", objects=BELONGINGS + " pet mistake", stative=True ),
    _verb("lose", "verlieren", "lost", "losing", participle="verloren", objects=BELONGINGS, determiners="definite",
        stative=True),
    _verb("forget", "vergessen", "forgot", "forgetting", third="vergisst", participle="vergessen",
        objects="small word present answer", determiners="definite", stative=True),
    _verb("need", "brauchen", "needed", objects="small clothes furniture devices own_vehicles dishes wealth",
        stative=True, timeless=True),
    _verb("love", "lieben", "loved", "loving", objects="kin pet music names", determiners="definite", stative=True,
        timeless=True),
    _verb("know", "kennen", "knew", participle="gekannt", objects="people kin names song film rule game",
        determiners="definite", stative=True, timeless=True),
    _verb("understand", "verstehen", "understood", participle="verstanden",
        objects="ideas language_parts text report jokes contract film", determiners="definite", stative=True),
    _verb("answer", "beantworten", "answered", objects="question letters", determiners="definite"),
    _verb("ask", "fragen", "asked", objects="people kin names", determiners="definite"),
    _verb("greet", "begrüßen", "greeted", objects="people kin names", determiners="definite"),
    _verb("hug", "umarmen", "hugged", "hugging", participle="umarmt", objects="kin friend child",
        determiners="definite"),
    _verb("feed", "füttern", "fed", objects="animals", determiners="definite"),
    _verb("pick~up", "ab|holen", "picked", objects="known kin names parcel youngster", determiners="definite"),
    _verb("bring~along", "mit|bringen", "brought", participle="mitgebracht",
        objects="gifts cake salad wine drinks ball game"),
    _verb("bring~back", "zurück|bringen", "brought", participle="zurückgebracht",
        objects="texts dictionary bottle own_vehicles umbrella camera", determiners="definite"),
    _verb("take", "nehmen", "took", "taking", third="nimmt", participle="genommen", objects="public cab",
        determiners="definite"),
    _verb("put~on", "an|ziehen", "put", "putting", participle="angezogen", objects="dressing", determiners="own"),
    _verb("take~off", "aus|ziehen", "took", "taking", participle="ausgezogen", objects="dressing", determiners="own"),
    _verb("wear", "tragen", "wore", third="trägt", participle="getragen", objects="clothes"),
    _verb("carry", "tragen", "carried", third="trägt", participle="getragen", objects="luggage boxes parcel",
        determiners="definite"),
    _verb("try~on", "an|probieren", "tried", objects="dressing cap hat"),
    _verb("throw~away", "weg|werfen", "threw", third="wirft", participle="weggeworfen",
        objects="newspaper magazine letter boxes bottle shoe calendar", determiners="definite"),
    _verb("pack", "packen", "packed", objects="luggage", determiners="own"),
    _verb("unpack", "aus|packen", "unpacked", objects="luggage boxes gifts", determiners="definite"),
    _verb("tidy~up", "auf|räumen", "tidied", objects="room kitchen desk cellar cupboard", determiners="definite"),
    _verb("prepare", "vor|bereiten", "prepared", "preparing", objects="planned exam mealtimes",
        determiners="definite"),
    _verb("sign", "unterschreiben", "signed", participle="unterschrieben", objects="contract form",
        determiners="definite"),
    _verb("fill~in", "aus|füllen", "filled", objects="form", determiners="definite"),
    _verb("translate", "übersetzen", "translated", "translating", participle="übersetzt",
        objects="writings letters book novel sentence"),
    _verb("paint", "malen", "painted", objects="picture flower"),
    _verb("draw", "zeichnen", "drew", objects="picture house animals plants bridge"),
    _verb("photograph", "fotografieren", "photographed", objects="buildings animals plants people kin",
        determiners="definite"),
    _verb("build", "bauen", "built", objects="buildings boat"),
    _verb("borrow", "aus|leihen", "borrowed", participle="ausgeliehen",
        objects="texts dictionary own_vehicles umbrella camera"),
    _verb("check", "kontrollieren", "checked", objects="ticket passport bill", determiners="definite"),
    _verb("pay", "bezahlen", "paid", objects="bill", determiners="definite"),
    _verb("miss", "verpassen", "missed", objects="public", determiners="definite", stative=True),
    _verb("break", "zerbrechen", "broke", third="zerbricht", participle="zerbrochen", objects="fragile",
        stative=True),
    _verb("cut", "schneiden", "cut", "cutting", participle="geschnitten", objects="bread cake onion cheese carrot"),
    _verb("peel", "schälen", "peeled", objects="potato apple onion carrot orange"),
    _verb("learn", "lernen", "learned", objects="word language poem", stative=True),
    _verb("sing", "singen", "sang", participle="gesungen", objects="song"),
    _verb("listen to", "hören", "listened", objects="music song"),
    _verb("watch", "an|sehen", "watched", third="sieht", participle="angesehen", reflexive="dative", objects="shows",
        determiners="any"),
    _verb("solve", "lösen", "solved", "solving", objects="problem exercise"),
    _verb("correct", "korrigieren", "corrected", objects="mistake text sentence", determiners="definite"),
    _verb("discuss", "besprechen", "discussed", third="bespricht", participle="besprochen",
        objects="plan problem question idea trip", determiners="definite"),
    _verb("change", "ändern", "changed", "changing", objects="plan text sentence recipe rule",
        determiners="definite"),
    _verb("cancel", "ab|sagen", "cancelled", "cancelling", objects="planned concert course", determiners="definite"),
    _verb("organise", "organisieren", "organised", "organising", objects="planned concert"),
    _verb("describe", "beschreiben", "described", "describing", participle="beschrieben",
        objects="problem plan picture", determiners="definite"),
    _verb("lock", "ab|schließen", "locked", participle="abgeschlossen", objects="door car bicycle flat suitcase",
        determiners="definite"),
    _verb("hide", "verstecken", "hid", "hiding", objects="gifts key money letter", determiners="definite"),
    _verb("wrap", "ein|packen", "wrapped", "wrapping", objects="present book vase doll", determiners="definite"),
    _verb("celebrate", "feiern", "celebrated", "celebrating", objects="birthday wedding", determiners="definite"),
)

DATIVE = (
    _verb("help", "helfen", "helped", third="hilft", participle="geholfen", objects="people kin names", case="dative",
        determiners="definite"),
    _verb("thank", "danken", "thanked", objects="people kin names", case="dative", determiners="definite"),
    _verb("congratulate", "gratulieren", "congratulated", "congratulating", objects="people kin names", case="dative",
        determiners="definite"),
    _verb("trust", "vertrauen", "trusted", objects="people kin names", case="dative", determiners="definite",
        stative=True),
    _verb("follow", "folgen", "followed", sein=True, objects="people animals", case="dative", determiners="definite"),
    _verb("listen to", "zu|hören", "listened", objects="people kin names", case="dative", determiners="definite"),
)

DITRANSITIVE = (
    _verb("give", "geben", "gave", "giving", third="gibt", participle="gegeben", recipients="all",
        objects="gifts small texts toys"),
    _verb("show", "zeigen", "showed", recipients="all",
        objects="pictures house flat room ticket passport letter"),
    _verb("send", "schicken", "sent", recipients="all", objects="letters parcel flower picture photo bill"),
    _verb("lend", "leihen", "lent", participle="geliehen", recipients="all",
        objects="texts dictionary own_vehicles umbrella money pen"),
    _verb("bring", "bringen", "brought", participle="gebracht", recipients="all",
        objects="flower drinks soup newspaper parcel key chair"),
    _verb("write", "schreiben", "wrote", "writing", participle="geschrieben", recipients="all",
        objects="letters poem"),
    _verb("recommend", "empfehlen", "recommended", third="empfiehlt", participle="empfohlen", recipients="all",
        objects="book novel film exhibition course hotel restaurant", stative=True, english_to=True),
    _verb("explain", "erklären", "explained", recipients="all", objects="ideas language_parts jokes game recipe",
        determiners="definite", english_to=True),
    _verb("tell", "erzählen", "told", recipients="all", objects="story joke"),
    _verb("offer", "an|bieten", "offered", participle="angeboten", recipients="all",
        objects="drinks biscuit cake chair room soup"),
    _verb("buy", "kaufen", "bought", recipients="kin_friends", objects="gifts clothes toys bicycle book ring"),
)

PREPOSITIONAL = (
    _verb("wait for", "warten", "waited", preposition="auf",
        complements="people kin names public cab answer letter parcel"),
    _verb("think of", "denken", "thought", participle="gedacht", preposition="an",
        complements="kin names friend holidays trip exam", determiners="definite"),
    _verb("dream of", "träumen", "dreamt", preposition="von", governs="dative",
        complements="trip holidays house flat wedding own_vehicles", determiners="indefinite"),
    _verb("talk about", "sprechen", "talked", third="spricht", participle="gesprochen", preposition="über",
        complements="film book plan problem trip exam weather contract exhibition"),
    _verb("talk to", "sprechen", "talked", third="spricht", participle="gesprochen", preposition="mit",
        governs="dative", complements="people kin names"),
    _verb("talk on the phone with", "telefonieren", "talked", preposition="mit", governs="dative",
        complements="known kin names", determiners="definite"),
    _verb("dance with", "tanzen", "danced", "dancing", preposition="mit", governs="dative",
        complements="known kin names"),
    _verb("play with", "spielen", "played", preposition="mit", governs="dative",
        complements="toys pet nephew niece child"),
    _verb("laugh about", "lachen", "laughed", preposition="über", complements="jokes story film mistake picture"),
    _verb("ask for", "bitten", "asked", participle="gebeten", preposition="um", complements="bill answer"),
    _verb("look after", "auf|passen", "looked", preposition="auf", complements="pet youngster luggage niece nephew",
        determiners="definite"),
    _verb("take part in", "teil|nehmen", "took", "taking", third="nimmt", participle="teilgenommen", preposition="an",
        governs="dative", complements="course meeting game exam trip"),
    _verb("look forward to", "freuen", "looked", reflexive="accusative", preposition="auf",
        complements="holidays trip party birthday wedding concert", determiners="definite"),
    _verb("be interested in", "interessieren", "was", "being", reflexive="accusative", preposition="für",
        complements="music language exhibition course", stative=True, determiners="definite", timeless=True),
    _verb("remember", "erinnern", "remembered", reflexive="accusative", preposition="an",
        complements="trip film wedding story kin names people", stative=True, determiners="definite"),
    _verb("complain about", "beschweren", "complained", reflexive="accusative", preposition="über",
        complements="nuisance soup price neighbour bill", determiners="definite"),
    _verb("worry about", "sorgen", "worried", reflexive="accusative", preposition="um",
        complements="kin names pet child", determiners="definite"),
    _verb("concentrate on", "konzentrieren", "concentrated", "concentrating", reflexive="accusative",
        preposition="auf", complements="exam text exercise question game", determiners="definite"),
    _verb("apologise to", "entschuldigen", "apologised", "apologising", reflexive="accusative", preposition="bei",
        governs="dative", complements="people kin names", determiners="definite"),
    _verb("take care of", "kümmern", "took", "taking", reflexive="accusative", preposition="um",
        complements="kin pet garden guest child", determiners="definite"),
    _verb("get used to", "gewöhnen", "got", "getting", reflexive="accusative", preposition="an",
        complements="noise weather flat language", determiners="definite", timeless=True),
)

INTRANSITIVE = (
    _verb("work", "arbeiten", "worked", places="workplace city"),
    _verb("sleep", "schlafen", "slept", third="schläft", participle="geschlafen",
        places="bedroom hotel home"),
    _verb("live", "wohnen", "lived", "living", places="city country village", stative=True),
    _verb("play", "spielen", "played", places="playground"),
    _verb("dance", "tanzen", "danced", "dancing", places="nightlife"),
    _verb("wait", "warten", "waited", places="meeting_point"),
    _verb("have breakfast", "frühstücken", "had", "having", places="eating home"),
    _verb("have lunch", "zu Mittag |essen", "had", "having", third="isst", participle="zu Mittag gegessen",
        places="eating home"),
    _verb("swim", "schwimmen", "swam", "swimming", participle="geschwommen", sein=True, places="bathing"),
    _verb("hike", "wandern", "hiked", "hiking", sein=True, places="hiking"),
    _verb("stay", "bleiben", "stayed", participle="geblieben", sein=True, places="home hotel bed",
        stative=True),
    _verb("laugh", "lachen", "laughed"),
    _verb("cry", "weinen", "cried"),
    _verb("get up", "auf|stehen", "got", "getting", participle="aufgestanden", sein=True),
    _verb("wake up", "auf|wachen", "woke", "waking", sein=True),
    _verb("fall asleep", "ein|schlafen", "fell", third="schläft", participle="eingeschlafen", sein=True),
    _verb("come back", "zurück|kommen", "came", "coming", participle="zurückgekommen", sein=True),
    _verb("go out", "aus|gehen", "went", participle="ausgegangen", sein=True),
    _verb("go shopping", "ein|kaufen", "went", places="shop city_centre"),
    _verb("watch television", "fern|sehen", "watched", third="sieht", participle="ferngesehen"),
    _verb("hurry", "beeilen", "hurried", reflexive="accusative"),
    _verb("rest", "aus|ruhen", "rested", reflexive="accusative", places="resting"),
    _verb("get dressed", "an|ziehen", "got", "getting", participle="angezogen", reflexive="accusative"),
    _verb("get changed", "um|ziehen", "got", "getting", participle="umgezogen", reflexive="accusative"),
    _verb("sit down", "hin|setzen", "sat", "sitting", reflexive="accusative"),
    _verb("apologise", "entschuldigen", "apologised", "apologising", reflexive="accusative"),
    _verb("smoke", "rauchen", "smoked", "smoking"),
)

MOTION = (
    _verb("go", "gehen", "went", participle="gegangen", sein=True, places="walkable"),
    _verb("drive", "fahren", "drove", "driving", third="fährt", participle="gefahren", sein=True,
        places="drivable city country"),
    _verb("travel", "reisen", "travelled", "travelling", sein=True, places="city country"),
    _verb("fly", "fliegen", "flew", participle="geflogen", sein=True, places="city country"),
    _verb("run", "laufen", "ran", "running", third="läuft", participle="gelaufen", sein=True, places="runnable"),
)

THINK = _verb("think", "glauben", "thought", stative=True)
KNOW_THAT = _verb("know", "wissen", "knew", participle="gewusst", stative=True)
HOPE = _verb("hope", "hoffen", "hoped", "hoping", stative=True)
SAY = _verb("say", "sagen", "said", stative=True)
TRY = _verb("try", "versuchen", "tried")
GO, DRIVE = MOTION[0], MOTION[1]
BE = _verb("be", "sein", "was", participle="gewesen", sein=True, stative=True)
HAVE = _verb("have", "haben", "had", "having", stative=True)
COST = _verb("cost", "kosten", "cost", stative=True)
BELONG = _verb("belong to", "gehören", "belonged", objects="people kin names", case="dative", stative=True)
LIE = _verb("be", "liegen", "was", participle="gelegen", stative=True)
STAND = _verb("be", "stehen", "was", participle="gestanden", stative=True)
HANG = _verb("hang", "hängen", "hung", participle="gehangen", stative=True)
FIND_AGAIN = _verb("find~again", "wieder|finden", "found", participle="wiedergefunden", stative=True)
LAY = _verb("put", "legen", "put", "putting")
PLACE_UPRIGHT = _verb("put", "stellen", "put", "putting")
START = _verb("start", "beginnen", "started", participle="begonnen")
DEPART = _verb("leave", "ab|fahren", "left", "leaving", third="fährt", participle="abgefahren", sein=True)
ARRIVE = _verb("arrive", "an|kommen", "arrived", "arriving", participle="angekommen", sein=True)
TAKE_PLACE = _verb("take place", "statt|finden", "took", "taking", participle="stattgefunden")
RIDE = _verb("go", "fahren", "went", third="fährt", participle="gefahren", sein=True)
TASTE = _verb("taste", "schmecken", "tasted", "tasting", stative=True)
# fmt: on
FRAMES = (
    THINK,
    KNOW_THAT,
    HOPE,
    SAY,
    TRY,
    BE,
    HAVE,
    COST,
    BELONG,
    LIE,
    STAND,
    HANG,
    FIND_AGAIN,
    LAY,
    PLACE_UPRIGHT,
    START,
    DEPART,
    ARRIVE,
    TAKE_PLACE,
    RIDE,
    TASTE,
)

VERBS: tuple[Verb, ...] = (
    *TRANSITIVE,
    *DATIVE,
    *DITRANSITIVE,
    *PREPOSITIONAL,
    *INTRANSITIVE,
    *MOTION,
    *FRAMES,
)
DOING: tuple[Verb, ...] = (*TRANSITIVE, *TRANSITIVE, *DATIVE, *PREPOSITIONAL)  # things are done more often than to people
VERB: dict[str, Verb] = {verb.english: verb for verb in (*DATIVE, *DITRANSITIVE, *PREPOSITIONAL, *TRANSITIVE)}
INTRANSITIVE_VERB: dict[str, Verb] = {verb.english: verb for verb in (*INTRANSITIVE, *MOTION)}


def verbs_named(names: str) -> list[Verb]:
    """The verbs with an object whose English names stand in the text."""
    return [VERB[name] for name in names.split()]
