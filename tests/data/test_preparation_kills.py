"""A preparation that is killed leaves nothing behind, and the next one makes what an undisturbed one makes."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LIVES = """\
import json, os, random, signal, sys, time
from pathlib import Path
from mtkit.config.loader import load_config
from mtkit.data import preparation

root, kills = Path(sys.argv[1]), int(sys.argv[2])
config = load_config(str(root / "some.yaml"), [f"vocabulary.reuse={option}" for option in sys.argv[3:]])
preparation.CHUNK = 50
draw = random.Random(1)

def start(out, overwrite):
    pid = os.fork()
    if pid:
        return pid
    try:
        sys.stderr = open(os.devnull, "w")
        preparation.prepare(config, out, overwrite=overwrite)
    except BaseException:
        os._exit(1)
    os._exit(0)

def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}

begin = time.monotonic()
assert os.waitpid(start(root / "straight", False), 0)[1] == 0
duration = time.monotonic() - begin
whole = content(root / "straight")
out = root / "out"
counts = {"kills": 0, "with leftovers": 0, "finished": 0}
while counts["kills"] < kills:
    overwrite = out.exists()
    pid = start(out, overwrite)
    time.sleep(draw.uniform(0.0, 1.1 * duration))
    os.kill(pid, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    counts["kills"] += status != 0
    counts["finished"] += status == 0
    left = list(root.glob(".tmp*"))
    counts["with leftovers"] += bool(left)
    moved = [path for path in left if path.name.endswith(".old")]
    assert not overwrite or out.exists() or moved, "what was there is there"
    if out.exists():
        assert content(out) == whole
        if draw.random() < 0.5:
            os.rename(out, root / f"done-{counts['kills']}-{counts['finished']}")
assert os.waitpid(start(out, out.exists()), 0)[1] == 0
assert content(out) == whole
assert not list(root.glob(".tmp*")), list(root.glob(".tmp*"))
print(json.dumps(counts))
"""


def write_text(folder: Path, pairs: int) -> None:
    draw = random.Random(2)
    lines = [
        [draw.choice(["bako", "timu", "lera", "nosi", "pufa"]) for _ in range(draw.randint(1, 9))] for _ in range(pairs)
    ]
    (folder / "a.tsv").write_text("".join(f"{' '.join(line)}\t{' '.join(reversed(line))}\n" for line in lines))
    (folder / "some.yaml").write_text(
        f"data: {{train: {{tsv: {folder}/a.tsv}}, validation: {{tsv: {folder}/a.tsv}}}}\n"
        "vocabulary: {size: 400, soft_limit: true}\ncleaning: {drop_duplicates: true}\n"
    )


def test_killed_at_twenty_random_moments(tmp_path: Path) -> None:
    write_text(tmp_path, 300)
    command = [sys.executable, "-c", LIVES, str(tmp_path), "20"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", timeout=290, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == 20
    assert counts["with leftovers"] >= 10, counts


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
