"""What went wrong and can be seen: told with its line, and not where the reference has it too."""

import pytest

from mtkit.evaluation.analysis import Texts
from mtkit.evaluation.comparison import System
from mtkit.evaluation.faults import FAULTS, NEED_SOURCE, Fault, faults

SOURCE = [
    "The dog runs over the green meadow today.",
    "New York Times",
    "He paid 1,250 euros on 3 May at www.bank.example/pay.",
    "She reads a book.",
    "Well well well well well well.",
]
REFERENCE = [
    "Der Hund läuft heute über die grüne Wiese.",
    "New York Times",
    "Er zahlte am 3. Mai 1.250 Euro auf www.bank.example/pay.",
    "Sie liest ein Buch.",
    "Nun nun nun nun nun nun.",
]


def found(place: int, line: str, *, source: bool = True) -> dict[str, str]:
    """What is told of `line` in place of a perfect translation, by kind."""
    lines = [*REFERENCE[:place], line, *REFERENCE[place + 1 :]]
    told = faults(Texts(SOURCE if source else None, [REFERENCE], [System("a", lines)]))
    for (of_system,) in told.values():
        assert all(fault.line == place + 1 for fault in of_system)
    return {kind: of_system[0].found for kind, (of_system,) in told.items() if of_system}


def test_a_perfect_translation_has_no_fault() -> None:
    assert found(0, REFERENCE[0]) == {}


@pytest.mark.parametrize(
    ("place", "line", "expected"),
    [
        (3, "  ", {"empty": "nothing at all"}),
        (3, "she reads a book.", {"copies of the source": "the source itself"}),
        (0, "Der Hund runs over the green meadow.", {"left untranslated": "“runs over the green meadow” as in the source"}),
        (0, "Der Hund runs over Wiese.", {}),  # two words may be chance
        (1, "Die New York Times", {}),  # a name
        (
            3,
            "Sie liest so gern ein Buch so gern ein Buch so gern ein Buch.",
            {"repeats itself": "“so gern ein Buch” 3 times"},
        ),
        (4, "Na na na na na na.", {}),  # the reference does so too
        (2, "Er zahlte am 3. Mai 1.520 Euro auf www.bank.example/pay.", {"broken numbers": "no 1250, but 1520"}),
        (2, "Er zahlte im Mai 1250 Euro auf www.bank.example/pay.", {"broken numbers": "no 3"}),
        (
            2,
            "Er zahlte am 3. Mai 1 250 Euro auf www.bank.beispiel/pay.",
            {"broken addresses": "no www.bank.example/pay, but www.bank.beispiel/pay"},
        ),
    ],
)
def test_faults(place: int, line: str, expected: dict[str, str]) -> None:
    assert found(place, line) == expected


def test_without_a_source_only_what_the_line_itself_shows() -> None:
    told = faults(Texts(None, [REFERENCE], [System("a", [""] * 5), System("b", REFERENCE)]))
    assert set(told) == set(FAULTS) - NEED_SOURCE == {"empty", "repeats itself"}
    assert told["empty"] == (tuple(Fault(number, "nothing at all") for number in range(1, 6)), ())


def test_one_of_several_references_is_enough() -> None:
    spelt = ["Der Hund.", "New York Times", "Er zahlte tausend am dritten Mai.", "Sie liest.", "Nun."]
    told = faults(Texts(SOURCE, [REFERENCE, spelt], [System("a", spelt)]))
    assert told["broken numbers"] == ((),)  # a translator wrote them so
