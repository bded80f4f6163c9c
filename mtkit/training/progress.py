"""What one sees of a training: lines on stderr, or a tqdm bar on a terminal, and the same numbers in metrics.jsonl."""

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from mtkit.checkpoint import GO_ON
from mtkit.metrics import Sample
from mtkit.support.files import whole_file, writing
from mtkit.support.progress import duration
from mtkit.training.tensorboard import Board

SLOW_FEED = 0.2
"""Share of time spent waiting for data from which on a warning is due."""


class Window:
    """Sums since the last progress line; all but the counts lie on the training device until they are needed."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.tokens = 0  # target tokens of all processes
        self.updates = 0
        self.waited = 0.0  # seconds
        self.aside = 0.0  # seconds spent on validation and checkpoints
        self.gradient_norm = 0.0  # summed

    @property
    def seconds(self) -> float:
        """Time spent training."""
        return max(time.perf_counter() - self.began - self.aside, 1e-9)


class Progress:
    """Reports of one process; silent where `leads` is False.

    `work` is the floating-point operations of a target token, `peak` those of all devices a second at best, if known.
    """

    def __init__(
        self,
        metrics: Path,
        updates: int,
        done: int,
        leads: bool,
        *,
        work: float = 0.0,
        peak: float | None = None,
        board: Board | None = None,
    ) -> None:
        self._metrics, self._updates, self._leads = metrics, updates, leads
        self._work, self._peak, self._board = work, peak, board
        self._warned = False
        self._bar = None
        if leads:
            _forget_after(metrics, done)
            if sys.stderr.isatty():
                self._bar = tqdm(total=updates, initial=done, unit=" updates", dynamic_ncols=True)

    def say(self, text: str) -> None:
        """A line for the person who watches."""
        if self._leads:
            tqdm.write(text, file=sys.stderr)

    def advance(self) -> None:
        """One more update is done."""
        if self._bar is not None:
            self._bar.update()

    def training(self, update: int, epoch: int, loss: float, nll: float, rate: float, window: Window) -> None:
        """Loss and negative log-likelihood are sums over the window, in nats."""
        loss, nll = loss / window.tokens, nll / window.tokens
        waiting = window.waited / window.seconds
        left = (self._updates - update) * window.seconds / window.updates
        speed = window.tokens / window.seconds
        utilisation = {} if self._peak is None else {"model_flop_utilisation": round(speed * self._work / self._peak, 4)}
        self._record(
            update=update,
            epoch=epoch,
            loss=loss,
            negative_log_likelihood=nll,
            learning_rate=rate,
            gradient_norm=window.gradient_norm / window.updates,
            target_tokens=window.tokens,
            seconds=round(window.seconds, 3),
            data_wait_seconds=round(window.waited, 3),
            **utilisation,
        )
        used = "".join(f" | MFU {share:.1%}" for share in utilisation.values())
        self.say(
            f"update {update}/{self._updates} | epoch {epoch + 1} | "
            f"loss {loss:.3f} | perplexity {math.exp(min(nll, 99)):.2f} | rate {rate:.2e} | "
            f"gradient norm {window.gradient_norm / window.updates:.2f} | "
            f"{speed:,.0f} target tokens/s{used} | data wait {waiting:.0%} | {duration(left)} left"
        )
        if waiting > SLOW_FEED and not self._warned:
            self._warned = True
            self.say(
                "WARNING: the training waits for data: is the disk of the prepared folder slow, or are all cores taken?"
            )

    def validation(
        self,
        update: int,
        loss: float,
        bleu: float | None,
        signature: str,
        seconds: float,
        best: bool,
        samples: Sequence[Sample] = (),
    ) -> None:
        """Loss is the mean negative log-likelihood of the validation target tokens, in nats."""
        self._record(
            update=update,
            validation_loss=loss,
            validation_bleu=bleu,
            signature=signature,
            seconds=round(seconds, 3),
            samples=[asdict(sample) for sample in samples],
        )
        score = "" if bleu is None else f" | BLEU {bleu:.2f} | {signature}"
        self.say(
            f"validation at update {update} | loss {loss:.4f} | perplexity {math.exp(min(loss, 99)):.2f}{score} | "
            f"{duration(seconds)}{' | best so far' if best else ''}"
        )

    def ended(self, update: int, why: str) -> None:
        """The training is over before its last update."""
        self._record(update=update, ended=why)

    def close(self) -> None:
        """Leaves the terminal as it was."""
        if self._bar is not None:
            self._bar.close()
        if self._board is not None:
            self._board.close()

    def _record(self, **values: int | float | str | list[dict[str, str]] | None) -> None:
        if self._leads:
            # JSON has no word for a number that is not finite.
            told = {
                name: None if isinstance(value, float) and not math.isfinite(value) else value
                for name, value in values.items()
            }
            with writing(self._metrics, cure=GO_ON), self._metrics.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(told) + "\n")
            if self._board is not None:
                self._board.add(told)


def _forget_after(metrics: Path, update: int) -> None:
    """Drops what an interrupted run recorded after the checkpoint it goes on from: it will happen again."""
    if not metrics.exists():
        return
    kept = []
    for line in metrics.read_bytes().split(b"\n"):
        try:
            record = json.loads(line)
            if record["update"] <= update and "ended" not in record:
                kept.append(line + b"\n")
        except (ValueError, KeyError, TypeError, RecursionError):
            continue  # the line that was being written when the run was killed
    with whole_file(metrics, cure=GO_ON) as stream:
        stream.write(b"".join(kept))
