"""scripts/comet.sh with a stand-in for comet-score, which takes gigabytes: what it writes is what --import-scores reads."""

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

STAND_IN = """\
#!{python}
import json, sys
given = sys.argv
sources = given[given.index("--sources") + 1]
references = given[given.index("--references") + 1]
hypotheses = given[given.index("--translations") + 1 : given.index("--references")]
assert given[given.index("--model") + 1] == "Unbabel/wmt22-comet-da" and given[given.index("--gpus") + 1] == "0"
read = lambda name: [line.strip() for line in open(name, encoding="utf-8").readlines()]
found = {{}}
for name in hypotheses:
    rows = zip(read(sources), read(name), read(references))
    found[name] = [{{"src": s, "mt": m, "ref": r, "COMET": len(m) / 100}} for s, m, r in rows]
print("Segment scores on stdout")
json.dump(found, open(given[given.index("--to_json") + 1], "w"))
"""

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def comet(tmp_path: Path) -> Callable[..., Done]:
    """comet(*arguments): the script in `tmp_path`, with the stand-in for its environment."""
    tools = tmp_path / "comet" / "bin"
    tools.mkdir(parents=True)
    (tools / "comet-score").write_text(STAND_IN.format(python=sys.executable))
    (tools / "comet-score").chmod(0o755)
    (tools / "python").symlink_to(sys.executable)
    installed = tmp_path / "packages" / "unbabel_comet-2.2.7.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: unbabel-comet\nVersion: 2.2.7\n")
    settings = {"COMET_VENV": str(tmp_path / "comet"), "PYTHONPATH": str(installed.parent)}

    def call(*arguments: str) -> Done:
        command = ["bash", str(ROOT / "scripts" / "comet.sh"), *arguments]
        return subprocess.run(command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True, check=False)

    for name, content in (
        ("source.en", "One.\nTwo and a half.\n"),
        ("reference.de", "Eins.\nZweieinhalb.\n"),
        ("a.de", "Eins.\r\nZwei und ein halbes.\r\n"),
        ("b.de", "\ufeffEin\u2028s.\nZwei."),
        ("short.de", "Eins.\n"),
        ("shifted.de", "Ei\rns.\n\n"),
    ):
        (tmp_path / name).write_bytes(content.encode())
    return call


def test_what_it_writes_is_what_evaluate_shows(
    comet: Callable[..., Done], mtkit: Callable[..., Done], tmp_path: Path
) -> None:
    done = comet("source.en", "reference.de", "scores.json", "a.de", "b.de")
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.endswith("COMET of 2 translation(s) is in scores.json\n")
    files = ("--hypothesis", "a.de", "--hypothesis", "b.de", "--reference", "reference.de")
    shown = mtkit(tmp_path, "evaluate", *files, "--import-scores", "scores.json", "--set", "evaluation.metrics=bleu")
    assert shown.returncode == 0, shown.stderr
    texts = (hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:12] for name in ("source.en", "reference.de"))
    named = "src:{}|ref:{}".format(*texts)
    signature = f"Unbabel/wmt22-comet-da|unbabel-comet:2.2.7|{named} | reference.de, 2 lines"
    assert f"  comet = 0.1250 | {signature} | " in shown.stdout
    assert f"  comet = 0.0600 | {signature} | " in shown.stdout
    assert f"comet of 2 systems | {signature}" in shown.stdout
    (tmp_path / "a.de").write_text("Anders.\nAls zuvor.\n")
    shown = mtkit(tmp_path, "evaluate", *files, "--import-scores", "scores.json")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "scores.json: has no comet of the translation with sha256" in shown.stderr


@pytest.mark.parametrize(
    ("hypothesis", "told"),
    [
        ("none.de", "Error: none.de: no such file\n"),
        ("short.de", "Error: line counts differ: source.en 2 lines, short.de 1 lines\n"),
        ("a.de.gz", "Error: a.de.gz: comet-score reads plain files only: unpack it first\n"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_any_work(
    hypothesis: str, told: str, comet: Callable[..., Done], tmp_path: Path
) -> None:
    done = comet("source.en", "reference.de", "scores.json", hypothesis)
    assert (done.returncode, done.stderr) == (2, told)
    assert not (tmp_path / "scores.json").exists()


def test_lines_that_comet_reads_otherwise_are_told(comet: Callable[..., Done], tmp_path: Path) -> None:
    done = comet("source.en", "reference.de", "scores.json", "shifted.de")
    assert done.returncode == 1
    assert "Error: shifted.de: comet-score did not read its lines as they are" in done.stderr
    assert not (tmp_path / "scores.json").exists()


def test_without_arguments_it_tells_how_it_is_used(comet: Callable[..., Done]) -> None:
    done = comet()
    assert done.returncode == 2
    assert "scripts/comet.sh SOURCE REFERENCE SCORES.json HYPOTHESIS..." in done.stderr
    assert "set -euo" not in done.stderr
