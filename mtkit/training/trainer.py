"""The training loop: updates, and between them validation, checkpoints and reports.

State lives in three places: the weights, the optimizer's moments, and the number of updates done. Everything else follows
from the config and that number, so a run that was stopped goes on as if it had not been (the position law).
"""

import contextlib
import math
import signal
import sys
import time
import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from types import FrameType

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mtkit.checkpoint import CONFIG, LOCK, METRICS, Run, State, check_vocabulary, create_run, find_checkpoint, load_weights
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.model.transformer import Transformer, parameter_count
from mtkit.support.device import arithmetic
from mtkit.support.distributed import Processes
from mtkit.support.errors import UserError
from mtkit.training.feed import Feed, Update, refuse_longer
from mtkit.training.loss import TranslationLoss
from mtkit.training.optimization import Optimization
from mtkit.training.progress import Progress, Window
from mtkit.training.provenance import check_same_data, check_same_run, check_sharing, provenance
from mtkit.training.schedule import learning_rate
from mtkit.training.validation import ALIKE, Findings, Validator

PATIENCE_WITH_INFINITY = 20
"""Updates in a row that may be skipped for a gradient that is not finite."""


class Trainer:
    """A run in one process: built, then `run()`."""

    def __init__(self, config: Config, data: PreparedData, device: torch.device, processes: Processes) -> None:
        self._config, self._data, self._device, self._processes = config, data, device, processes
        self._training = config.training
        if self._training.threads:
            torch.set_num_threads(self._training.threads)
        check_sharing(config, data)
        self._vocabularies = data.vocabularies()
        self._feed = Feed(data.pairs("train"), self._training, device, processes)
        self._validator = Validator(data, config, device, processes)
        torch.manual_seed(self._training.seed)
        self._model = Transformer(config.model, len(self._vocabularies.target), len(self._vocabularies.source)).to(device)
        for split in ("train", "validation"):
            refuse_longer(data.pairs(split), split, self._model.longest)
        self._optimization = self._new_optimization()
        self._done = 0  # updates
        self._scores = State(0)  # the latest validation's
        self._best = self._scores.goodness  # of any validation
        self._skipped = 0  # updates in a row
        self._stop_signal = 0

    def start_from(self, path: Path) -> None:
        """Takes the weights of another run (fine-tuning); the vocabulary must be the same."""
        _, checkpoint = find_checkpoint(path)
        check_vocabulary(checkpoint, self._vocabularies, self._data.folder)
        load_weights(self._model, checkpoint)
        self._optimization = self._new_optimization()  # an average begins with these weights

    def _new_optimization(self) -> Optimization:
        return Optimization(self._model, self._training.optimizer, self._training.precision)

    @contextlib.contextmanager
    def open(self, folder: Path, *, resume: bool) -> Iterator[Run]:
        """The run folder, locked: made new, or taken up where its newest sound checkpoint stands."""
        exists = (folder / CONFIG).is_file()
        leftovers = [path for path in folder.iterdir() if path.name != LOCK] if folder.is_dir() else []
        if exists and not resume:
            raise UserError(f"{folder}: there is a run in it: go on with it by --resume, or take another folder with --run")
        if resume and not exists:
            raise UserError(f"{folder.absolute()}: no run to resume: leave --resume out to begin one")
        if leftovers and not exists:
            raise UserError(f"{folder}: is not empty and holds no run: take another folder with --run")
        self._processes.wait()  # nobody writes before everybody has looked
        run = Run(folder)
        with run.lock() if self._processes.leads else contextlib.nullcontext():
            if exists:
                self._resume(run)
            elif self._processes.leads:
                create_run(folder, self._config, self._vocabularies, provenance(self._config, self._data))
            self._processes.wait()
            yield run

    def _resume(self, run: Run) -> None:
        check_same_run(run.config(), self._config)
        checkpoint = run.latest(warn=self._processes.leads)
        if checkpoint is None:
            check_same_data(run, self._data)
            self._say(f"{run.folder}: has no complete checkpoint yet, beginning again")
            return
        check_vocabulary(checkpoint, self._vocabularies, self._data.folder)
        saved = checkpoint.optimizer_tensors()
        check_same_data(run, self._data)
        load_weights(self._model, checkpoint)
        self._optimization.load(saved)
        self._done, self._scores = checkpoint.state.step, checkpoint.state
        self._best = max(found.state.goodness for found in run.checkpoints() if found.state.step <= self._done)
        self._say(f"resumed {checkpoint.folder} at update {self._done}")

    def run(self, run: Run) -> None:
        """Trains to the last update, or to the signal that ends it early; either way the last checkpoint is written."""
        self._announce(run)
        progress = Progress(run.folder / METRICS, self._training.updates, self._done, self._processes.leads)
        module = TranslationLoss(self._model, self._training.label_smoothing, self._training.rdrop)
        wrapped: nn.Module = module
        if self._processes.count > 1:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # newer versions of torch rename broadcast_buffers
                wrapped = DistributedDataParallel(
                    module,
                    device_ids=[self._device.index] if self._device.type == "cuda" else None,
                    broadcast_buffers=False,
                    gradient_as_bucket_view=True,
                )
        with self._signals(), contextlib.closing(progress), contextlib.closing(self._feed.updates(self._done + 1)) as feed:
            self._loop(run, progress, wrapped, feed)

    def _loop(self, run: Run, progress: Progress, module: nn.Module, feed: Generator[Update]) -> None:
        window, sums = Window(), torch.zeros(2, device=self._device)
        while self._done < self._training.updates:
            update = next(feed)
            sums += self._learn(update, module, window, progress)
            self._done = number = update.number
            progress.advance()
            stopping = self._processes.any(self._stop_signal != 0, self._device)
            last = number == self._training.updates
            saving = stopping or last or number % self._training.checkpoints.interval == 0
            if saving or number % self._training.log_interval == 0:
                # A window ends with each checkpoint, so that the figures of a resumed run are those of one never stopped.
                loss, nll = self._processes.sum(sums.tolist(), self._device)
                rate = learning_rate(number, self._training, self._config.model.d_model)
                progress.training(number, update.epoch, loss, nll, rate, window)
                window, sums = Window(), torch.zeros(2, device=self._device)
            aside = time.perf_counter()
            if not stopping and (last or number % self._training.validation.interval == 0):
                self._validate(progress)
            if saving:
                self._save(run)
            window.aside += time.perf_counter() - aside
            if stopping:
                progress.say(f"stopped by a signal at update {number}; go on with --resume")
                return
        progress.say(f"trained {self._done} updates; the model is in {run.folder}")

    def _learn(self, update: Update, module: nn.Module, window: Window, progress: Progress) -> torch.Tensor:
        """One optimiser update. Returns the sums of loss and negative log-likelihood over this process's tokens."""
        sums = torch.zeros(2, device=self._device)
        # DistributedDataParallel averages gradients over processes; the sum law wants their sum over all tokens.
        scale = self._processes.count / update.target_tokens
        for index, micro_batch in enumerate(update.micro_batches):
            last = index == len(update.micro_batches) - 1
            alone = contextlib.nullcontext() if last or self._processes.count == 1 else module.no_sync()  # type: ignore[operator]
            torch.manual_seed(micro_batch.seed)
            with alone:
                with arithmetic(self._device, self._training.precision):
                    loss, nll = module(micro_batch.batch)
                self._optimization.scaled(loss * (micro_batch.weight * scale)).backward()  # type: ignore[no-untyped-call]
            sums += torch.stack([loss.detach(), nll.detach()]) * micro_batch.weight
        rate = learning_rate(update.number, self._training, self._config.model.d_model)
        norm = self._optimization.step(update.number, rate)
        self._note_infinity(norm, update.number, progress)
        window.tokens += update.target_tokens
        window.updates += 1
        window.waited += update.waited
        window.gradient_norm += norm if math.isfinite(norm) else 0.0
        return sums

    def _note_infinity(self, norm: float, update: int, progress: Progress) -> None:
        if math.isfinite(norm):
            self._skipped = 0
            return
        self._skipped += 1
        progress.say(f"WARNING: update {update} skipped: its gradient is not finite (harmless if rare)")
        if self._skipped >= PATIENCE_WITH_INFINITY:
            raise RuntimeError(
                f"the gradient was not finite for {self._skipped} updates in a row, up to update {update}: try a lower "
                "learning rate or a longer warm-up; the checkpoints written so far are sound"
            )

    def _validate(self, progress: Progress) -> None:
        begin = time.perf_counter()
        with self._optimization.evaluating():
            findings: Findings = self._validator(self._model)
        bleu = findings.bleu.value if findings.bleu else None
        scores = State(self._done, loss=findings.loss, bleu=bleu)
        best = scores.goodness > self._best
        self._scores, self._best = scores, max(self._best, scores.goodness)
        signature = f"{findings.bleu.signature} | {findings.bleu.test_set}" if findings.bleu else ""
        seconds = time.perf_counter() - begin
        progress.validation(self._done, findings.loss, bleu, signature, seconds, best, findings.samples)
        for sample in findings.samples:
            progress.say(
                f"  source      {sample.source}\n  translation {sample.translation}\n  reference   {sample.reference}"
            )
        if findings.alike > ALIKE:
            progress.say(
                f"WARNING: {findings.alike:.0%} of the translations are identical: the learning rate may be too high, "
                "or the warm-up too short for it"
            )

    def _save(self, run: Run) -> None:
        if self._processes.leads:
            fresh = self._scores.step == self._done
            state = State(
                self._done,
                loss=self._scores.loss if fresh else None,
                bleu=self._scores.bleu if fresh else None,
                vocabulary=self._vocabularies.fingerprint,
            )
            moments = self._optimization.state()
            with self._optimization.evaluating():
                run.save(state, self._model.state_dict(), moments)
            run.thin(self._training.checkpoints.keep_last, self._training.checkpoints.keep_best)

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C end the run after the update in progress; a second one ends it at once."""

        def handle(number: int, frame: FrameType | None) -> None:
            if self._stop_signal:
                raise KeyboardInterrupt
            self._stop_signal = number
            self._say("stopping after this update (once more to stop at once)")

        old = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)

    def _announce(self, run: Run) -> None:
        training = self._training
        weights = parameter_count(self._model)
        per_update = training.update_tokens // training.micro_batch_tokens
        kept = training.checkpoints.keep_last + training.checkpoints.keep_best + 1
        self._say(
            f"{self._device} x {self._processes.count} | {weights / 1e6:.1f} M weights | {training.precision} | "
            f"update = {per_update} micro-batches of {training.micro_batch_tokens} tokens on each side | "
            f"{run.folder} will need up to {kept * 12 * weights / 1e9:.1f} GB"
        )

    def _say(self, text: str) -> None:
        if self._processes.leads:
            print(text, file=sys.stderr)
