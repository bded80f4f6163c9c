"""What people suffer from when they score translations, each with its exact values, on the command line.

That a validation's BLEU is the one of its checkpoint is in tests/cli/test_evaluate.py, where there is a model.
"""

import hashlib
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import sacrebleu

from mtkit.support.lines import read_lines

ROOT = Path(__file__).parents[2]
SHARED_DATA = Path(os.environ.get("MTKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))
SIGNATURE = f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"

Done = subprocess.CompletedProcess[str]
Call = Callable[..., Done]


@pytest.fixture
def evaluate(mtkit: Call, tmp_path: Path) -> Call:
    """evaluate(*arguments) in an empty folder."""
    return lambda *arguments: mtkit(tmp_path, "evaluate", *arguments)


def write(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def numbered(word: str, count: int) -> list[str]:
    return [f"{word} Nummer {number} von {count}." for number in range(1, count + 1)]


def keep(folder: Path, name: str, sacrebleu_name: str, source: list[str], reference: list[str]) -> None:
    """A test set as `mtkit prepare` leaves it beside the data."""
    digests = {}
    for end, lines in (("en", source), ("de", reference)):
        path = folder / f"{name}.en-de.{end}"
        write(path, *lines)
        digests[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    record = {"sacrebleu": sacrebleu_name, "lines": len(source), "sha256": digests}
    (folder / f"{name}.en-de.json").write_text(json.dumps(record))


# Counts that differ


def test_two_hypotheses_and_three_references_are_no_100(evaluate: Call, tmp_path: Path) -> None:
    lines = [f"Das ist heute der Satz Nummer {number}." for number in (1, 2, 3)]
    write(tmp_path / "ref.de", *lines)
    write(tmp_path / "hyp.de", *lines[:2])
    assert sacrebleu.corpus_bleu(lines[:2], [lines]).score == pytest.approx(100.0)  # what sacreBLEU's own interface says
    done = evaluate("--hypothesis", "hyp.de", "--reference", "ref.de")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: hyp.de: hypotheses 2 lines, reference ref.de 3 lines: ")
    assert done.stderr.count("\n") == 1


def test_every_reference_counts_and_so_does_every_system(evaluate: Call, tmp_path: Path) -> None:
    write(tmp_path / "ref.de", "Eins.", "Zwei.", "Drei.")
    write(tmp_path / "short.de", "Eins.", "Zwei.")
    done = evaluate("--hypothesis", "ref.de", "--reference", "ref.de", "--reference", "short.de")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hypotheses 3 lines, reference short.de 2 lines" in done.stderr
    done = evaluate("--hypothesis", "ref.de", "--hypothesis", "short.de", "--reference", "ref.de")
    assert (done.returncode, done.stdout) == (2, ""), "no score of one system when the other's is refused"
    assert "short.de: hypotheses 2 lines, reference ref.de 3 lines" in done.stderr


def test_blank_lines_count_and_separators_inside_a_line_do_not(evaluate: Call, tmp_path: Path) -> None:
    (tmp_path / "ref.de").write_bytes(b"Eins.\n\nDrei und vier.\n")
    (tmp_path / "hyp.de").write_bytes("Eins.\r\n\r\nDrei\u2028und vier.".encode())
    done = evaluate("--hypothesis", "hyp.de", "--reference", "ref.de")
    assert done.returncode == 0, done.stderr
    assert "| ref.de, 3 lines |" in done.stdout


# Scores of different kinds


def test_pieces_left_in_cost_87_points_and_are_warned_of(evaluate: Call, tmp_path: Path) -> None:
    write(tmp_path / "pieces.de", "Die Kat@@ ze saß auf der Mat@@ te.")
    write(tmp_path / "ref.de", "Die Katze saß auf der Matte.")
    done = evaluate("--hypothesis", "pieces.de", "--reference", "ref.de")
    assert done.stdout.splitlines()[1].startswith("  BLEU = 13.07 ")
    assert f" | {SIGNATURE} | ref.de, 1 line | " in done.stdout
    warning = "WARNING: pieces.de: 1 of 1 hypotheses do not look like finished text: BPE pieces (@@) in 1"
    assert done.stderr.startswith(warning)
    done = evaluate("--hypothesis", "ref.de", "--reference", "ref.de")
    assert done.stdout.splitlines()[1].startswith("  BLEU = 100.00 ")
    assert f" | {SIGNATURE} | ref.de, 1 line | " in done.stdout
    assert done.stderr == ""


def test_the_papers_kind_of_number_never_goes_without_its_label(evaluate: Call, tmp_path: Path) -> None:
    write(tmp_path / "hyp.de", "Die Nord-Süd-Strecke ist heute gesperrt, sagte der Sprecher.")
    write(tmp_path / "ref.de", "Die Nord-Süd-Strecke ist heute gesperrt, so der Sprecher.")
    kinds = "evaluation.metrics=[bleu, tokenised-bleu, compound-split-bleu]"
    done = evaluate("--hypothesis", "hyp.de", "--reference", "ref.de", "--set", kinds)
    _, plain, tokenised, split = done.stdout.splitlines()
    assert plain.startswith("  BLEU = ")
    assert tokenised.startswith("  tokenised BLEU (not comparable with sacreBLEU) = ")
    assert split.startswith("  compound-split BLEU (not comparable with sacreBLEU) = ")
    done = evaluate("--hypothesis", "hyp.de", "--reference", "ref.de", "--set", "evaluation.metrics=tokenised-bleu")
    assert done.returncode == 2
    assert "give bleu beside it" in done.stderr


# The two newstest2014


def test_a_translation_of_the_full_set_is_not_held_against_the_filtered_one(evaluate: Call, tmp_path: Path) -> None:
    sets = tmp_path / "data" / "test_sets"
    keep(sets, "newstest2014", "wmt14/full", numbered("sentence", 3003), numbered("Satz", 3003))
    keep(sets, "newstest2014-filtered", "wmt14", numbered("sentence", 2737), numbered("Satz", 2737))
    write(tmp_path / "full.de", *numbered("Satz", 3003))
    write(tmp_path / "part.de", *numbered("Satz", 2737))
    options = ("--set", "evaluation.metrics=bleu", "--set", "evaluation.resamples=0")
    done = evaluate("--hypothesis", "full.de", "--test-set", "newstest2014", *options)
    assert done.stdout.splitlines()[1].endswith(f" | {SIGNATURE} | newstest2014 (wmt14/full), 3003 lines")
    done = evaluate("--hypothesis", "full.de", "--test-set", "newstest2014-filtered")
    assert (done.returncode, done.stdout) == (2, "")
    assert "hypotheses 3003 lines, reference newstest2014-filtered 2737 lines" in done.stderr
    assert "these hypotheses have as many as newstest2014 (sacreBLEU's wmt14/full)" in done.stderr
    done = evaluate("--hypothesis", "part.de", "--test-set", "newstest2014")
    assert "these hypotheses have as many as newstest2014-filtered (sacreBLEU's wmt14)" in done.stderr


def test_the_filtered_set_is_a_part_of_the_full_one() -> None:
    folder = SHARED_DATA / "newstest" / "en-de"
    if not folder.exists():
        pytest.skip("no shared data: put newstest under the folder that MTKIT_SHARED_DATA names")
    places = [int(line) - 1 for line in read_lines(folder / "newstest2014-filtered2737.lineno.gz")]
    assert len(set(places)) == 2737
    for language in ("en", "de"):
        full = read_lines(folder / f"newstest2014.{language}.gz")
        assert len(full) == 3003
        assert [full[place] for place in places] == read_lines(folder / f"newstest2014-filtered2737.{language}.gz")


# References, one list a set


def test_two_references_give_what_the_sacrebleu_command_gives(evaluate: Call, tmp_path: Path) -> None:
    write(tmp_path / "hyp.de", "Der Hund läuft.", "Heute regnet es hier.", "Sie liest ein Buch.")
    write(tmp_path / "one.de", "Der Hund rennt schnell.", "Heute regnet es.", "Sie liest gerade ein Buch.")
    write(tmp_path / "two.de", "Ein Hund läuft.", "Es regnet heute hier.", "Sie liest ein dickes Buch.")
    for references in (["one.de"], ["one.de", "two.de"]):
        command = [sys.executable, "-m", "sacrebleu", *references, "-i", "hyp.de", "-m", "bleu", "chrf"]
        options = ["--chrf-word-order", "2", "-f", "text", "-w", "2"]
        environment = {name: value for name, value in os.environ.items() if name != "SACREBLEU_FORMAT"}
        theirs = subprocess.run(
            [*command, *options], cwd=tmp_path, capture_output=True, check=True, encoding="utf-8", env=environment
        )
        named = [part for reference in references for part in ("--reference", reference)]
        done = evaluate("--hypothesis", "hyp.de", *named, "--set", "evaluation.metrics=[bleu, chrf++]")
        for line, expected in zip(done.stdout.splitlines()[1:], theirs.stdout.splitlines(), strict=True):
            name_and_signature, _, value = expected.partition(" = ")
            name, _, signature = name_and_signature.strip().partition("|")
            assert line.startswith(f"  {name} = {value} | {signature} | {' + '.join(references)}, 3 lines | ")


def test_a_reference_with_holes_is_told(evaluate: Call, tmp_path: Path) -> None:
    write(tmp_path / "hyp.de", "Der Hund läuft.", "", "Sie liest ein Buch.")
    write(tmp_path / "one.de", "Der Hund rennt.", "", "Sie liest ein Buch.")
    write(tmp_path / "two.de", "Ein Hund läuft.", "", " ")
    done = evaluate("--hypothesis", "hyp.de", "--reference", "one.de", "--reference", "two.de")
    assert done.returncode == 0
    assert done.stderr.startswith("WARNING: two.de: 1 of 3 lines are empty, the hypotheses are not: ")
    assert done.stderr.count("\n") == 1


# No network when scoring


def test_scoring_needs_no_network(evaluate: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the network was asked")

    keep(tmp_path / "data" / "test_sets", "newstest2013", "wmt13", numbered("sentence", 3000), numbered("Satz", 3000))
    write(tmp_path / "hyp.de", *numbered("Satz", 3000))
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    options = ("--set", "evaluation.metrics=bleu", "--set", "evaluation.resamples=0")
    done = evaluate("--hypothesis", "hyp.de", "--test-set", "newstest2013", *options)
    assert done.returncode == 0, done.stderr
    assert "newstest2013 (wmt13), 3000 lines" in done.stdout


# Small differences


def test_a_system_is_no_better_than_itself(evaluate: Call, tmp_path: Path) -> None:
    lines = numbered("Satz", 200)
    write(tmp_path / "ref.de", *lines)
    write(tmp_path / "a.de", *(line.replace("Nummer 1", "die Nummer 1") for line in lines))
    write(tmp_path / "b.de", *(line.replace("Nummer 1", "die Nummer 1") for line in lines))
    arguments = ("--hypothesis", "a.de", "--hypothesis", "b.de", "--reference", "ref.de", "--set", "evaluation.metrics=bleu")
    done = evaluate(*arguments)
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("\n\n")[1].splitlines()
    assert re.fullmatch(r" +1 +\S+ +\S+ ± \S+ +a\.de \(baseline\)", table[2])
    assert re.fullmatch(
        r" +1 +\S+ +\S+ ± \S+ +\+0\.00 +\+0\.00 ± 0\.00 +1\.0000 +1\.0000 +b\.de \(not significant\)", table[3]
    )
    assert table[4].startswith(
        "  paired bootstrap, 1,000 resamples; approximate randomisation, 10,000 trials; seed 12345; rank = "
    )
    assert evaluate(*arguments).stdout == done.stdout
