"""Adverbials of time and frequency, ready in both languages. Nothing here inflects."""

from entries import Adverbial


def _time(english: str, german: str) -> Adverbial:
    return Adverbial(english, german, english)


# The first eight suit any deed, the others only deeds that matter for longer (verbs.LASTING).
PAST_TIMES = (
    _time("yesterday", "gestern"),
    _time("the day before yesterday", "vorgestern"),
    _time("yesterday morning", "gestern Morgen"),
    _time("yesterday evening", "gestern Abend"),
    _time("last Monday", "letzten Montag"),
    _time("last Saturday", "letzten Samstag"),
    _time("two days ago", "vor zwei Tagen"),
    _time("an hour ago", "vor einer Stunde"),
    _time("last week", "letzte Woche"),
    _time("last month", "letzten Monat"),
    _time("last year", "letztes Jahr"),
    _time("three weeks ago", "vor drei Wochen"),
    _time("a month ago", "vor einem Monat"),
)
RECENT = PAST_TIMES[:8]
FUTURE_TIMES = (
    _time("tomorrow", "morgen"),
    _time("the day after tomorrow", "übermorgen"),
    _time("tomorrow morning", "morgen früh"),
    _time("tomorrow evening", "morgen Abend"),
    _time("this evening", "heute Abend"),
    _time("in an hour", "in einer Stunde"),
    _time("soon", "bald"),
    _time("next Friday", "nächsten Freitag"),
    _time("next week", "nächste Woche"),
    _time("next month", "nächsten Monat"),
    _time("next year", "nächstes Jahr"),
    _time("in two weeks", "in zwei Wochen"),
)
NEAR = FUTURE_TIMES[:8]
HABITUAL_TIMES = (
    _time("every day", "jeden Tag"),
    _time("every week", "jede Woche"),
    _time("every morning", "jeden Morgen"),
    _time("every evening", "jeden Abend"),
    _time("in the morning", "am Morgen"),
    _time("in the afternoon", "am Nachmittag"),
    _time("in the evening", "am Abend"),
    _time("at the weekend", "am Wochenende"),
    _time("in summer", "im Sommer"),
    _time("in winter", "im Winter"),
    _time("on Mondays", "montags"),
    _time("on Fridays", "freitags"),
    _time("on Saturdays", "samstags"),
    _time("on Sundays", "sonntags"),
)
WEEKDAYS = (
    _time("on Monday", "am Montag"),
    _time("on Tuesday", "am Dienstag"),
    _time("on Wednesday", "am Mittwoch"),
    _time("on Thursday", "am Donnerstag"),
    _time("on Friday", "am Freitag"),
    _time("on Saturday", "am Samstag"),
    _time("on Sunday", "am Sonntag"),
    _time("today", "heute"),
)
NOW_TIMES = (_time("today", "heute"), _time("now", "jetzt"), _time("this week", "diese Woche"))
FREQUENCIES = (
    _time("always", "immer"),
    _time("often", "oft"),
    _time("sometimes", "manchmal"),
    _time("never", "nie"),
    _time("rarely", "selten"),
    _time("usually", "meistens"),
)
OPENERS = (_time("unfortunately", "leider"), _time("maybe", "vielleicht"), _time("luckily", "zum Glück"))
SPANS = (
    _time("a week", "einer Woche"),
    _time("a month", "einem Monat"),
    _time("a year", "einem Jahr"),
    _time("two hours", "zwei Stunden"),
    _time("three days", "drei Tagen"),
    _time("two weeks", "zwei Wochen"),
    _time("six months", "sechs Monaten"),
    _time("two years", "zwei Jahren"),
    _time("ten years", "zehn Jahren"),
)
EVERY_TIME = tuple(time for time in HABITUAL_TIMES if time.english not in ("in summer", "in winter"))
