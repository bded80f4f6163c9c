"""How long is told."""

import pytest

from mtkit.support.progress import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0m00s"), (65, "1m05s"), (3599.9, "59m59s"), (3600, "1h00m"), (7530, "2h05m"), (90_000, "25h00m")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
