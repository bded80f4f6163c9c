"""The benchmark against a peer: how eole's log is read, and what becomes of a peer that fails."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import measuring
import peer_eole

REPORT = (
    "Step {step}/   12; acc: 0.1; ppl: 9.90; sents: 700; bsz: {source}/{target}/ 7; {rate}/{target_rate} tok/s;      9 sec;"
)


def report(step: int, target: int, target_rate: int) -> str:
    """A line as eole logs it, with more on the source side than on the target side."""
    return REPORT.format(
        step=step, source=f"{2 * target:4d}", target=f"{target:4d}", rate=5000, target_rate=f"{target_rate:3d}"
    )


def test_target_tokens_and_their_rate_are_read_without_the_first_report() -> None:
    log = "\n".join(["start", report(4, 1000, 10), report(8, 1000, 500), report(12, 900, 450), "saving"])
    speed = peer_eole.eole_reports(log, updates=8)
    assert speed.target_tokens == 4 * (1000 + 900)
    assert speed.seconds == pytest.approx(8 + 8)


def test_a_missing_report_is_a_failure() -> None:
    with pytest.raises(SystemExit, match="reported 0 times"):
        peer_eole.eole_reports(report(4, 1000, 10), updates=8)


def test_a_failing_command_shows_the_end_of_its_log_and_the_cause() -> None:
    code = "import sys; print('\\n'.join(map(str, range(100)))); sys.exit('out of luck')"
    with pytest.raises(SystemExit) as caught:
        measuring.run("eole train", [sys.executable, "-c", code])
    told = str(caught.value)  # SystemExit with a text prints it on stderr and exits with code 1
    assert "out of luck" in told
    assert "| 99" in told
    assert "| 50" not in told
    assert told.endswith("eole train failed with exit code 1")


def test_a_peer_that_is_not_there_is_named() -> None:
    with pytest.raises(SystemExit, match="nowhere/python"):
        peer_eole.peer_versions(Path("nowhere/python"))
