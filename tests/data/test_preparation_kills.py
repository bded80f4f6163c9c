"""A preparation that is killed is gone on with, and the next one makes what an undisturbed one makes."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mtkit.config.loader import load_config
from mtkit.data import stages
from mtkit.data.preparation import prepare
from mtkit.support.errors import UserError

ROOT = Path(__file__).parents[2]

LIFE = """\
import json, os, random, signal, sys, time
from pathlib import Path
from mtkit.config.loader import load_config
from mtkit.data import chunks, encoding, preparation, splits, stages

root = Path(sys.argv[1])
out = root / "out"
splits.CHUNK = 70
stages.PAUSE = 0
done = {"cleaned": 0, "encoded": 0, "commits": 0}

def counted(kind, name):
    call = kind.__call__
    def replacement(self, chunk):
        done[name] += len(chunk)
        return call(self, chunk)
    kind.__call__ = replacement

counted(chunks.Clean, "cleaned")
counted(encoding._Encode, "encoded")

def start(out, overwrite=False, last=None):
    # In a child, which kills itself after so many commits; returns its number.
    pid = os.fork()
    if pid:
        return pid
    try:
        sys.stderr = (root / "told").open("w", buffering=1)
        write = stages.Stage._write
        def writing(self):
            write(self)
            done["commits"] += 1
            if done["commits"] == last:
                os.kill(os.getpid(), signal.SIGKILL)
        stages.Stage._write = writing
        config = load_config(str(root / "some.yaml"), sys.argv[2:])
        preparation.prepare(config, out, overwrite=overwrite)
        sys.stderr.flush()
        (root / "done.json").write_text(json.dumps(done))
    except BaseException as error:
        os._exit(1)
    os._exit(0)

def end(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}

def left():
    return list(root.glob(".tmp*"))
"""

RANDOMLY = """\
draw = random.Random(1)
begin = time.monotonic()
assert end(start(root / "straight")) == 0
duration = time.monotonic() - begin
whole = content(root / "straight")
counts = {"kills": 0, "with leftovers": 0, "continued": 0, "finished": 0}
while counts["kills"] < 20:
    overwrite = out.exists()
    pid = start(out, overwrite)
    time.sleep(draw.uniform(0.0, 0.7 * duration))
    os.kill(pid, signal.SIGKILL)
    status = end(pid)
    assert status in (0, -signal.SIGKILL), status
    counts["kills"] += status != 0
    counts["finished"] += status == 0
    counts["with leftovers"] += bool(left())
    counts["continued"] += "continuing" in (root / "told").read_text()
    assert len(left()) <= 2, left()
    moved = [path for path in left() if path.name.endswith(".old")]
    assert not overwrite or out.exists() or moved, "what was there is there"
    if out.exists():
        assert content(out) == whole
        if draw.random() < 0.5:
            os.rename(out, root / f"done-{counts['kills']}-{counts['finished']}")
assert end(start(out, out.exists())) == 0
assert content(out) == whole
assert not left(), left()
print(json.dumps(counts))
"""

AFTER_EACH_COMMIT = """\
assert end(start(root / "straight")) == 0
whole, all_of_it = content(root / "straight"), json.loads((root / "done.json").read_text())
results = {}
for last in range(STEP, all_of_it["commits"] + 1, STEP):
    assert end(start(out, last=last)) == -signal.SIGKILL
    assert not out.exists()
    assert len(left()) == 1
    assert end(start(out)) == 0
    assert content(out) == whole, last
    assert not left()
    told = [line for line in (root / "told").read_text().splitlines() if line.startswith("continuing")]
    results[last] = [json.loads((root / "done.json").read_text()), told]
    os.rename(out, root / f"out-{last}")
print(json.dumps([all_of_it, results]))
"""


def live(folder: Path, body: str, *options: str) -> Any:
    """What the statements `body` print as JSON."""
    command = [sys.executable, "-c", LIFE + body, str(folder), *options]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=290, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def write_text(folder: Path, pairs: int) -> None:
    draw = random.Random(2)
    lines = [
        [draw.choice(["bako", "timu", "lera", "nosi", "pufa"]) for _ in range(draw.randint(1, 9))] for _ in range(pairs)
    ]
    text = [f"{' '.join(line)}\t{' '.join(reversed(line))}\n" for line in lines]
    (folder / "a.tsv").write_text("".join(text))
    (folder / "b.tsv").write_text("".join(text[5:45]))
    (folder / "some.yaml").write_text(
        f"data: {{train: {{tsv: {folder}/a.tsv}}, validation: {{tsv: {folder}/b.tsv}}}}\n"
        "vocabulary: {size: 400, soft_limit: true}\ncleaning: {drop_duplicates: true}\n"
    )


OPTIONS = (
    "cleaning.drop_duplicates=true",
    "cleaning.drop_duplicate_sources=true",
    "cleaning.drop_held_out=targets",
    "cleaning.max_tokens=20",
)


SEPARATE = ("vocabulary.shared=false", "vocabulary.kind=unigram", "model.tied_embeddings=decoder")


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    write_text(tmp_path, 300)
    counts = live(tmp_path, RANDOMLY, *OPTIONS, "vocabulary.shortlist=true")
    assert counts["kills"] == 20
    assert counts["with leftovers"] >= 10, counts
    assert counts["continued"] >= 5, counts


@pytest.mark.parametrize(
    ("step", "more"),
    [
        (4, ()),
        pytest.param(1, (), marks=pytest.mark.slow),
        pytest.param(1, SEPARATE, marks=pytest.mark.slow),
    ],
)
def test_only_what_is_not_done_yet_is_done(tmp_path: Path, step: int, more: tuple[str, ...]) -> None:
    write_text(tmp_path, 300)
    whole, results = live(tmp_path, f"STEP = {step}\n{AFTER_EACH_COMMIT}", *OPTIONS, *more)
    held_out, training = 40, 300
    assert whole["cleaned"] == held_out + training
    # Commits: a chunk of validation text and the end of its cleaning; five chunks of training text and the end; the
    # vocabulary; as many chunks as are left of the training text and the end; one of validation and the end.
    encoded = whole["encoded"]
    to_clean = [training] * 2 + [230, 160, 90, 20, 0, 0, 0]
    to_encode = [encoded] * 9 + [*range(encoded - 70, held_out, -70), held_out, held_out, 0, 0]
    assert whole["commits"] == len(to_encode)
    assert list(results) == [str(last) for last in range(step, len(to_encode) + 1, step)]
    for last, (done, told) in results.items():
        number = int(last) - 1
        assert done["cleaned"] == (to_clean + [0] * len(to_encode))[number]
        assert done["encoded"] == to_encode[number]
        assert len(told) == 1
    done = "cleaning validation (done), cleaning train (140 lines)"
    assert results["4"][1] == [f"continuing an interrupted preparation: {done}"]


def prepared(folder: Path, *options: str) -> dict[str, bytes]:
    out = folder / "out"
    prepare(load_config(str(folder / "some.yaml"), options), out)
    found = {path.name: path.read_bytes() for path in out.iterdir()}
    out.rename(folder / f"out-{len(list(folder.iterdir()))}")
    return found


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Callable[[], Path]":
    """A preparation that Ctrl-C ended while the training text was numbered: the folder that it left."""
    write_text(tmp_path, 300)
    monkeypatch.setattr(stages, "PAUSE", 0.0)

    def interrupt() -> Path:
        def commit(stage: "stages.Stage[Any]") -> None:
            if stage.name == "encoding train":
                raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(stages.Stage, "commit", commit)
            with pytest.raises(KeyboardInterrupt):
                prepare(load_config(str(tmp_path / "some.yaml"), OPTIONS), tmp_path / "out")
        assert capsys.readouterr().err.endswith("what is done so far is kept: the same command goes on with it\n")
        (left,) = tmp_path.glob(".tmp*")
        return left

    return interrupt


def test_the_same_goes_on_and_anything_else_starts_anew(
    tmp_path: Path, interrupted: "Callable[[], Path]", capsys: pytest.CaptureFixture[str]
) -> None:
    left = interrupted()
    whole = prepared(tmp_path, *OPTIONS)
    done = "cleaning validation (done), cleaning train (done), learning the vocabulary (done)"
    assert f"continuing an interrupted preparation: {done}\n" in capsys.readouterr().err
    assert not left.exists()

    text = (tmp_path / "a.tsv").read_bytes()
    for options, content in ((("cleaning.max_tokens=19",), text), ((), text.replace(b"bako", b"koba", 1))):
        assert interrupted() == left
        stamp = (tmp_path / "a.tsv").stat()
        (tmp_path / "a.tsv").write_bytes(content)
        os.utime(tmp_path / "a.tsv", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        changed = prepared(tmp_path, *OPTIONS, *options)
        assert "continuing" not in capsys.readouterr().err
        assert not list(tmp_path.glob(".tmp*"))
        assert changed == prepared(tmp_path, *OPTIONS, *options) != whole
        (tmp_path / "a.tsv").write_bytes(text)


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def change(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [cut, change, Path.unlink])
def test_what_is_damaged_is_not_used(
    tmp_path: Path, interrupted: "Callable[[], Path]", capsys: pytest.CaptureFixture[str], damage: "Callable[[Path], None]"
) -> None:
    left = interrupted()
    whole = prepared(tmp_path, *OPTIONS)
    for name in ("work/train.en", "work/train.index", "validation.de", "vocabulary.model", "work/cleaning-train.commit"):
        capsys.readouterr()
        interrupted()
        damage(left / name)
        assert prepared(tmp_path, *OPTIONS) == whole
        told = capsys.readouterr().err
        assert not list(tmp_path.glob(".tmp*"))
        if damage is not Path.unlink or not name.endswith(".commit"):
            assert f"what an interrupted preparation left is damaged ({Path(name).name}): starting anew" in told


def test_what_the_user_must_mend_leaves_nothing_to_go_on_with(tmp_path: Path, interrupted: "Callable[[], Path]") -> None:
    interrupted()
    with pytest.raises(UserError, match=r"vocabulary\.size 261 is too small"):
        prepared(tmp_path, "vocabulary.size=261", "vocabulary.soft_limit=false")
    assert not list(tmp_path.glob(".tmp*"))


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    write_text(tmp_path, 300)
    stuck = "stages.Stage.commit = lambda self: (print(left()[0].name, flush=True), sys.stdin.read())\n"
    body = stuck + "preparation.prepare(load_config(str(root / 'some.yaml')), out)"
    command = [sys.executable, "-c", LIFE + body, str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b".tmp-out-")
        for options in ((), ("cleaning.max_tokens=19",)):
            with pytest.raises(UserError, match="another mtkit is writing it: wait for it or give another --output"):
                prepared(tmp_path, *options)
        process.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.glob(".tmp*"))) == 1
    prepared(tmp_path)
    assert not list(tmp_path.glob(".tmp*"))


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    write_text(tmp_path, 60_000)
    command = [sys.executable, "-m", "mtkit", "prepare", "--config", "some.yaml", "--output", "out", "--workers", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        workers: list[str] = []
        while process.poll() is None and len(workers) < 3:  # two, and what keeps count of their resources
            workers = [
                child for file in Path(f"/proc/{process.pid}/task").glob("*/children") for child in file.read_text().split()
            ]
        assert process.poll() is None
        process.kill()
    limit = time.monotonic() + 30
    while any(Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < limit:
        time.sleep(0.1)
    assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


@pytest.mark.slow
def test_200_000_lines_in_little_memory(tmp_path: Path) -> None:
    """V2: words are counted, not kept; 400 MB of address space are enough for all of it."""
    draw = random.Random(1)
    words = [f"w{number}" for number in range(30_000)]
    for language in ("en", "de"):
        lines = ("".join(f" {word}" for word in draw.choices(words, k=6)) for _ in range(200_000))
        (tmp_path / f"t.{language}").write_text("".join(f"{line}\n" for line in lines))
        (tmp_path / f"v.{language}").write_text(f"{language}\n")
    files = "data:\n  train: {source: t.en, target: t.de}\n  validation: {source: v.en, target: v.de}\n"
    (tmp_path / "some.yaml").write_text(files + "vocabulary: {size: 8000}\n")
    command = f'ulimit -v 400000; exec "{sys.executable}" -m mtkit prepare --config some.yaml --output out'
    settings = {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, env=os.environ | settings, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    assert "train: read 200000, kept 200000, dropped 0" in done.stderr
    assert "vocabulary: 8000 pieces" in done.stderr
