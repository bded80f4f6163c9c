"""Numbers from two to the hundreds and times of day, written out in both languages."""

# fmt: off
ENGLISH_ONES = (
    "", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
ENGLISH_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
GERMAN_ONES = (
    "", "eins", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf", "dreizehn",
    "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
)
GERMAN_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
# fmt: on


def english_number(value: int) -> str:
    """`value` (1 to 999) in British words: two hundred and fifty."""
    assert 1 <= value <= 999
    if value >= 100:
        rest = f" and {english_number(value % 100)}" if value % 100 else ""
        return f"{ENGLISH_ONES[value // 100]} hundred{rest}"
    if value < 20:
        return ENGLISH_ONES[value]
    tens, ones = divmod(value, 10)
    return ENGLISH_TENS[tens] + (f"-{ENGLISH_ONES[ones]}" if ones else "")


def german_number(value: int) -> str:
    """`value` (1 to 999) in one German word, as counted: eins, einundzwanzig, zweihundertfünfzig."""
    assert 1 <= value <= 999
    if value >= 100:
        hundreds = value // 100
        return (
            (GERMAN_ONES[hundreds] if hundreds > 1 else "ein")
            + "hundert"
            + (german_number(value % 100) if value % 100 else "")
        )
    if value < 20:
        return GERMAN_ONES[value]
    tens, ones = divmod(value, 10)
    unit = "ein" if ones == 1 else GERMAN_ONES[ones]
    return (f"{unit}und" if ones else "") + GERMAN_TENS[tens]


def clock_time(hour: int, minute: int) -> tuple[str, str]:
    """`hour` (1 to 12) and `minute` as said, with the preposition: at half past seven, um halb acht."""
    following = hour % 12 + 1
    if minute == 0:
        return f"at {english_number(hour)} o'clock", f"um {'ein' if hour == 1 else german_number(hour)} Uhr"
    if minute == 30:
        return f"at half past {english_number(hour)}", f"um halb {german_number(following)}"
    past = minute < 30
    span = minute if past else 60 - minute
    english_span = "a quarter" if span == 15 else english_number(span)
    german_span = "Viertel" if span == 15 else german_number(span)
    near = hour if past else following
    return (
        f"at {english_span} {'past' if past else 'to'} {english_number(near)}",
        f"um {german_span} {'nach' if past else 'vor'} {german_number(near)}",
    )


MINUTES = (0, 0, 5, 10, 15, 20, 30, 30, 40, 45, 50, 55)
PRICES = (*range(2, 100), *(hundred + rest for hundred in range(100, 1000, 100) for rest in (0, 50)))
ROOM_NUMBERS = tuple(floor * 100 + door for floor in range(1, 5) for door in range(1, 13))
