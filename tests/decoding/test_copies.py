"""What a translation should have taken over (T16, V10)."""

import pytest

from mtkit.decoding.copies import changed


@pytest.mark.parametrize(
    ("source", "target", "found"),
    [
        ("Call +49 30 1234", "Rufen Sie +49 30 1234 an", []),
        ("Call +49 30 1234", "Rufen Sie 49 30 124 an", [("49301234", ""), ("", "4930124")]),
        ("see https://a.example/x?y=1.", "siehe https://a.example/x?y=1.", []),
        (
            "see https://a.example/x?y=1",
            "siehe https://a.example/x",
            [("https://a.example/x?y=1", ""), ("", "https://a.example/x")],
        ),
        ("write to a.b@c.example, please", "an a.b@c.example bitte", []),
        ("write to a.b@c.example", "an a.b@c", [("a.b@c.example", "")]),
        ("1,000.50 dollars", "1.000,50 Dollar", []),
        ("12 and 12", "12", [("12", "")]),
        ("nothing", "nichts", []),
    ],
)
def test_what_changed(source: str, target: str, found: list[tuple[str, str]]) -> None:
    assert changed(source, target) == found


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("Hallo __P1__, __P12__!", []),
        ("Hallo __P1__!", [("__P12__", "")]),
        ("Hallo __P1__, __P1__, __P12__!", [("", "__P1__")]),
        ("Hallo P1, __P12__!", [("__P1__", ""), ("", "1")]),
    ],
)
def test_placeholders_that_are_missing_or_doubled(target: str, found: list[tuple[str, str]]) -> None:
    """V10; of symbols that begin alike the longer one is meant."""
    assert changed("Hello __P1__, __P12__!", target, ["__P1", "__P1__", "__P12__"]) == found
