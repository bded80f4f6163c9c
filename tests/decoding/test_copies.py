"""What a translation should have taken over (T16)."""

import pytest

from mtkit.decoding.copies import changed, changed_symbols


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
    ("source", "target", "found"),
    [
        ("x__P1__y", "__P1__", []),
        ("__P1__ and __P1__", "__P1__", [("__P1__", "")]),
        ("a __P1__", "__P1__ __P1__", [("", "__P1__")]),
        ("__P1__ 7", "__P12__ 8", [("__P1__", ""), ("", "__P12__")]),
        ("<b><b>", "", [("<b>", ""), ("<b>", "")]),
        ("1 https://a.example", "", []),
    ],
)
def test_placeholders_that_changed(source: str, target: str, found: list[tuple[str, str]]) -> None:
    assert changed_symbols(source, target, ["__P1__", "<b>", "__P12__", "__P1__2"]) == found
    assert changed_symbols(source, target, []) == []
