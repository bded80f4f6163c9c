"""The script for GPUs, with its toy sizes on the CPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).parents[2] / "scripts"


def test_a_dry_run(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPTS / "bench_gpu.py", "--dry-run"],
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines, _, rows = done.stdout.partition("\n\n")
    told = {record["bench"]: record for record in map(json.loads, lines.splitlines())}
    assert list(told) == [
        "agreement with the CPU, base",
        "train base bfloat16",
        "train big bfloat16",
        "translate base float32 beam 4",
        "translate base float32 beam 1",
        "translate base bfloat16 beam 4",
        "translate base bfloat16 beam 1",
        "train base float32",
        "train base tf32",
    ]
    same = told["agreement with the CPU, base"]
    assert same["largest_difference_float32"] < 1e-5 < same["largest_difference_bfloat16"] < 0.1
    for name, record in told.items():
        assert name in rows
        if not name.startswith("agreement"):
            assert record["target_tokens_per_second"] > 0
    assert not list(tmp_path.iterdir())
