"""The way in: `mtkit`, and `python -m mtkit`, which is the form that torchrun starts."""

import os
import signal
import sys
from types import FrameType


def _end(number: int, frame: FrameType | None) -> None:
    if "TORCHELASTIC_RUN_ID" not in os.environ:  # else the launcher tells
        os.write(2, b"Interrupted.\n")
    os._exit(130)


def main() -> int:
    """Runs the command line in sys.argv and returns the exit code. Ctrl-C ends it in one line, however early it comes."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if it is to be ignored
        signal.signal(signal.SIGINT, _end)
    from mtkit.cli.main import main

    return main()


if __name__ == "__main__":
    sys.exit(main())
