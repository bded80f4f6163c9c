"""What the processes that torch's launcher started tell each other and the launcher, through files in its folder of logs.

    FOLDER/began              the job has made or taken up its run
    FOLDER/attempt_0/failed   the first process of this machine that failed: it alone says why
    FOLDER/attempt_0/3/done   process 3 did all that was asked

Comes in: the launcher's environment variables. Goes out: who speaks, whether this is a restart. Imports nothing heavy: it is
there before the process knows what it will do, and after everything else has failed.
"""

import os
import time
from pathlib import Path

TIME_TO_TELL = 10.0, 2.0
"""Seconds that a process which lost another one gives that one to say why, and then to end, before it ends itself."""


class PeerLostError(RuntimeError):
    """Another process of the job has gone: a consequence, seldom the cause."""


def _own_folder() -> Path | None:
    """This process's folder among the launcher's logs; None without a launcher, or if it keeps none."""
    file = Path(os.environ.get("TORCHELASTIC_ERROR_FILE", os.devnull))
    return None if file == Path(os.devnull) else file.parent


def is_shared() -> bool:
    """Whether torch's launcher started this process."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def note_begun() -> None:
    """From now on a restart of the job goes on with its run."""
    if (own := _own_folder()) is not None:
        (own.parents[1] / "began").touch()


def goes_on() -> bool:
    """Whether the launcher has restarted the job after it had begun its run.

    A run that was there before the job is not the job's own, however often it is restarted.
    """
    own = _own_folder()
    return own is not None and (own.parents[1] / "began").exists()


def note_done() -> None:
    """This process has done all that was asked."""
    if (own := _own_folder()) is not None:
        (own / "done").touch()


def all_done(logs: Path, count: int) -> bool:
    """For the launcher: whether all of `count` processes did what was asked, by its folder of logs."""
    return len(list(logs.glob("*/attempt_*/*/done"))) == count


def anybody_spoke(logs: Path) -> bool:
    """For the launcher: whether a process has said why it failed."""
    return any(logs.glob("*/attempt_*/failed"))


def may_speak(error: BaseException) -> bool:
    """Whether this process is the one that tells of its failure: the first that failed. Alone it always is.

    A process that only lost another one never does. It ends after that one, or the launcher takes it for the cause.
    """
    own = _own_folder()
    if own is None:
        return True
    word = own.parent / "failed"
    if isinstance(error, PeerLostError):
        to_speak, to_end = TIME_TO_TELL
        deadline = time.monotonic() + to_speak
        while time.monotonic() < deadline and not word.exists():
            time.sleep(0.05)
        time.sleep(to_end)
        return False
    try:
        word.touch(exist_ok=False)
    except FileExistsError:
        return False
    except OSError:  # rather twice than never
        return True
    return True
