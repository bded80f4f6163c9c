"""Where a glossary's terms are found, and what is wrong with its file."""

from pathlib import Path

import pytest

from mtkit.data.normalisation import nfc
from mtkit.decoding.glossary import Glossary
from mtkit.decoding.phrases import Demand
from mtkit.support.errors import UserError

TERMS = {
    "credit": ("Kredit",),
    "credit card": ("Kreditkarte", "Karte"),
    "US": ("USA",),
    "new": ("neu",),
    "New York": ("New York",),
    "C++": ("C++",),
    "房子": ("house",),
    "€": ("Euro",),
    "fee": ("Gebühr",),
    "charge": ("Gebühr",),
}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        ("a credit", {"Kredit": 1}),
        ("credit card, Credit Card and credit", {"Kreditkarte": 2, "Kredit": 1}),
        ("accredit credits", {}),
        ("the US told us", {"USA": 1}),
        ("CREDIT", {"Kredit": 1}),
        ("new york, New York", {"neu": 1, "New York": 1}),
        ("C++ and (C++)", {"C++": 2}),
        ("这房子很大", {"house": 1}),
        ("5 € 7€", {"Euro": 2}),
        ("(credit), 'US' und C++, C++!", {"Kredit": 1, "USA": 1, "C++": 2}),
        ("a fee and a charge", {"Gebühr": 2}),
    ],
)
def test_terms_in_a_text(text: str, found: dict[str, int]) -> None:
    assert {demand.alternatives[0]: demand.count for demand in Glossary(TERMS).demands(text)} == found


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("\ufeff# ours\ncat\tKatze\tKater\r\n\n old  house\taltes Haus\ncat\tKatze\tKater\n".encode())
    glossary = Glossary.load(path, nfc)
    assert glossary.demands("the cat") == (Demand(("Katze", "Kater"), 1),)
    assert glossary.demands("Old house") == (Demand(("altes Haus",), 1),)


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"cat\n", ":1: 'cat' is not a term, a tab and its translation"),
        (b"a\tb\ncat\t\n", ":2: .* is not a term"),
        (b"\tKatze\n", ":1: .* is not a term"),
        (b"cat\tKatze\ncat\tKater\n", ":2: 'cat' is there twice with other translations"),
        (b"# nothing\n\n", "no terms in this glossary"),
        (b"caf\xe9\tx\n", ":1: invalid UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file(tmp_path: Path, raw: bytes, told: str) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes(raw)
    with pytest.raises(UserError, match=told):
        Glossary.load(path, nfc)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        Glossary.load(tmp_path / "none.tsv", nfc)
