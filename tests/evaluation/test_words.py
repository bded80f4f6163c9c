"""Words for looking at text: stretches that differ, repeats, numbers, addresses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mtkit.evaluation.words import Run, addresses, held_against, longest_shared, numbers, repeated, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Das ist's, z. B.", ["Das", "ist's", ",", "z", ".", "B", "."]),
        ("  E-Mail\u00a0an  Jörg ", ["E", "-", "Mail", "an", "Jörg"]),
        ("我爱 Python 3", ["我", "爱", "Python", "3"]),
        ("ねこが", ["ね", "こ", "が"]),
        ("", []),
        ("…", ["…"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


def test_what_the_other_line_does_not_have_is_alone() -> None:
    runs = held_against("Ein Hund läuft heute schnell.", "Der Hund läuft schnell.")
    marked = "".join(f"[{run.text}]" if run.alone else run.text for run in runs)
    assert marked == "[Ein] Hund läuft [heute] schnell."
    assert runs[0] == Run("Ein", alone=True)
    assert held_against("", "x") == ()
    assert held_against("ganz anders", "") == (Run("ganz anders", True),)


def test_order_counts() -> None:
    alone = [run.text for run in held_against("b a", "a b") if run.alone]
    assert len(alone) == 1


@given(st.text(max_size=40), st.text(max_size=40))
def test_the_runs_are_the_line(text: str, other: str) -> None:
    runs = held_against(text, other)
    assert "".join(run.text for run in runs) == text
    assert all(run.text for run in runs)
    if text == other:
        assert not any(run.alone for run in runs)


def test_repeats() -> None:
    assert repeated("ja das ist so und das ist so und das ist so") == ("das ist so und", 2)
    assert repeated("a b c a b c a b c a b c", size=3)[1] == 4
    assert repeated("nein nein nein nein nein nein") == ("nein nein nein nein", 3)
    assert repeated("zu kurz") == ("", 0)


def test_the_longest_shared_run_disregards_capitals_only() -> None:
    assert longest_shared("Er sagte: The dog runs fast.", "he said the dog runs fast") == ["The", "dog", "runs", "fast"]
    assert longest_shared("a", "b") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,234.5 people", "1.234,5 Leute"),
        ("1,000,000", "1 000 000"),
        ("12 345", "12\u00a0345"),
        ("at 10:30", "um 10.30 Uhr"),
        ("in 2014 and 3.5", "3,5 und 2014"),
    ],
)
def test_numbers_are_the_same_in_both_notations(one: str, other: str) -> None:
    assert numbers(one) == numbers(other) != {}


def test_numbers_apart_stay_apart() -> None:
    assert sorted(numbers("from 3 to 5, in 2014 7 of 10,000")) == ["10000", "2014", "3", "5", "7"]
    assert numbers("no number") == {}
    assert numbers("see www.example.org/2014/05 for 7") == {"7": 1}


def test_addresses_without_the_sentences_punctuation() -> None:
    text = "Siehe https://a.example/x?y=1, (www.b.example/z) oder „jo.e+c@mail.example“."
    assert sorted(addresses(text)) == ["https://a.example/x?y=1", "jo.e+c@mail.example", "www.b.example/z"]
    assert addresses("@home und a@b") == {}
