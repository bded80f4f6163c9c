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
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from mtkit.checkpoint import METRICS, Run, State, check_vocabulary, create_run, find_checkpoint, goodness, load_weights
from mtkit.config.schema import Config
from mtkit.data.folder import PreparedData
from mtkit.model.transformer import Transformer, parameter_count
from mtkit.support.device import arithmetic
from mtkit.support.distributed import Processes
from mtkit.support.files import bytes_text
from mtkit.training.ending import has_lost_patience, is_last, is_too_late
from mtkit.training.feed import Feed, Update, refuse_longer
from mtkit.training.loss import TranslationLoss
from mtkit.training.optimization import Optimization
from mtkit.training.progress import Progress, Window
from mtkit.training.provenance import provenance
from mtkit.training.resumption import (
    check_same_data,
    check_same_model,
    check_same_run,
    check_sharing,
    holds_run,
    record_changes,
)
from mtkit.training.schedule import learning_rate
from mtkit.training.skipping import Skipping
from mtkit.training.tensorboard import FOLDER, Board
from mtkit.training.utilisation import operations_per_target_token, peak_of
from mtkit.training.validation import ALIKE, Findings, Validator


class Trainer:
    """A run in one process: built, then `run()`."""

    def __init__(self, config: Config, data: PreparedData, device: torch.device, processes: Processes) -> None:
        self._config, self._data, self._device, self._processes = config, data, device, processes
        self._training = config.training
        if self._training.threads:
            torch.set_num_threads(self._training.threads)
        check_sharing(config, data)
        self._vocabularies = data.vocabularies()
        if config.decoding.shortlist:
            self._vocabularies.shortlist()  # sooner than after a day of training: is there one?
        self._feed = Feed(data.pairs("train"), self._training, device, processes, self._vocabularies)
        self._validator = Validator(data, config, device, processes)
        torch.manual_seed(self._training.seed)
        self._model = Transformer(config.model, len(self._vocabularies.target), len(self._vocabularies.source)).to(device)
        for split in ("train", "validation"):
            refuse_longer(data.pairs(split), split, self._model.longest)
        self._optimization = self._new_optimization()
        self._model.recompute = self._training.recompute
        if self._training.compile:
            # On a CPU with torch's own random numbers, which its compiler would replace: our masks are drawn from them.
            options: dict[str, str | int | bool | Callable[..., Any]] = {"fallback_random": device.type == "cpu"}
            for layer in (*self._model.encoder, *self._model.decoder):
                layer.compile(dynamic=True, options=options)
        self._begin = time.perf_counter()
        self._done = 0  # updates
        self._validated: list[State] = []  # the scores so far, oldest first
        self._stop_signal = 0

    def start_from(self, path: Path) -> None:
        """Takes the weights of another run (fine-tuning); the vocabulary must be the same."""
        origin, checkpoint = find_checkpoint(path)
        check_same_model(origin, self._config)
        check_vocabulary(checkpoint, self._vocabularies, self._data.folder)
        load_weights(self._model, checkpoint)
        self._optimization = self._new_optimization()  # an average begins with these weights

    def _new_optimization(self) -> Optimization:
        return Optimization(self._model, self._training.optimizer, self._training.precision)

    @contextlib.contextmanager
    def open(self, folder: Path, *, resume: bool) -> Iterator[Run]:
        """The run folder, locked: made new, or taken up where its newest sound checkpoint stands."""
        exists = holds_run(folder, resume=resume)
        if resume and not exists:
            self._say(f"{folder}: its start had failed before there was a run, beginning again")
        self._processes.wait()  # nobody writes before everybody has looked
        run = Run(folder)
        with run.lock() if self._processes.leads else contextlib.nullcontext():
            if exists:
                self._resume(run)
            elif self._processes.leads:
                create_run(folder, self._config, self._vocabularies, provenance(self._config, self._data))
            self._processes.wait()
            if exists and self._processes.leads:
                for line in record_changes(run, self._config, self._done):
                    self._say(line)
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
        self._done = checkpoint.state.step
        states = [found.state for found in run.checkpoints() if found.state.step <= self._done]
        self._validated = [state for state in states if state.validated]
        self._say(f"resumed {checkpoint.folder} at update {self._done}")
        if any(state.measure != self._validator.measure for state in self._validated):
            self._say("BLEU is not measured as it was: while checkpoints from before are kept, the lowest loss is the best")

    def run(self, run: Run) -> None:
        """Trains to the last update, or to the signal that ends it early; either way the last checkpoint is written."""
        self._announce(run)
        progress = self._progress(run)
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

    def _progress(self, run: Run) -> Progress:
        training, leads = self._training, self._processes.leads
        board = Board(run.folder / FOLDER, self._done) if training.tensorboard and leads else None
        pieces = len(self._vocabularies.target)
        return Progress(
            run.folder / METRICS,
            training.updates,
            self._done,
            leads,
            work=operations_per_target_token(self._config, self._data.pairs("train"), pieces),
            peak=peak_of(self._device, training.precision, self._processes.count),
            board=board,
        )

    def _loop(self, run: Run, progress: Progress, module: nn.Module, feed: Generator[Update]) -> None:
        skipping, validation_due, checkpoint_due = Skipping(run), False, False
        window, sums = Window(), torch.zeros(2, device=self._device)
        tired = self._is_tired(run, progress)
        while self._done < self._training.updates and not tired:
            update = next(feed)
            if is_too_late(update, self._training):
                break
            learnt, norm = self._learn(update, module, window)
            sums += learnt
            self._done = number = update.number
            progress.advance()
            if warning := skipping.note(number, norm):
                progress.say(warning)
            # After a skipped update nothing is saved, scored or ended: that waits for the next one that is applied.
            last = is_last(update, self._training)
            settled = last or not skipping.row
            stopping = self._processes.any(self._has_to_stop(), self._device) and settled
            validation_due |= last or number % self._training.validation.interval == 0
            checkpoint_due |= last or number % self._training.checkpoints.interval == 0
            saving = stopping or (checkpoint_due and settled)
            if saving or number % self._training.log_interval == 0:
                # A window ends with each checkpoint, so that the figures of a resumed run are those of one never stopped.
                loss, nll = self._processes.sum(sums.tolist(), self._device)
                rate = learning_rate(number, self._training, self._config.model.d_model)
                progress.training(number, update.epoch, loss, nll, rate, window)
                window, sums = Window(), torch.zeros(2, device=self._device)
            aside = time.perf_counter()
            applied = number - skipping.row
            if validation_due and settled and not stopping:
                validation_due = False
                self._validate(applied, progress)
                tired = self._is_tired(run, progress)
            if saving or tired:
                checkpoint_due = False
                self._save(applied, run, skipping)
            window.aside += time.perf_counter() - aside
            if stopping:
                why = "by a signal" if self._stop_signal else f"after {self._training.hours:g} hours"
                progress.say(f"stopped {why} at update {number}; go on with --resume")
                return
            if last:
                break
        if skipping.row:
            progress.say(f"WARNING: no update after {self._done - skipping.row} was applied")
        if tired:
            progress.ended(self._done, f"no new best in {self._training.validation.patience} validations")
        elif self._done < self._training.updates:
            progress.ended(self._done, f"all {self._training.epochs} epochs are done")
        progress.say(f"trained {self._done} updates; the model is in {run.folder}")

    def _has_to_stop(self) -> bool:
        hours = (time.perf_counter() - self._begin) / 3600
        return self._stop_signal != 0 or 0.0 < self._training.hours < hours

    def _is_tired(self, run: Run, progress: Progress) -> bool:
        """Whether patience is lost, which the leading process finds out and all are told."""
        patience = self._training.validation.patience
        tired = self._processes.any(self._processes.leads and has_lost_patience(run, patience), self._device)
        if tired:
            progress.say(f"no new best in {patience} validations: the training ends")
        return tired

    def _learn(self, update: Update, module: nn.Module, window: Window) -> tuple[torch.Tensor, float]:
        """One optimiser update, which is skipped if its loss or gradient is not finite: then the returned norm is not.

        Returns the sums of loss and negative log-likelihood over this process's tokens, and the norm of the gradient.
        """
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
                # A loss that is not finite makes its gradient so, which the exchange of gradients tells to all processes.
                whole = loss * (micro_batch.weight * scale + loss.detach() * 0.0)
                self._optimization.scaled(whole).backward()  # type: ignore[no-untyped-call]
            sums += torch.stack([loss.detach(), nll.detach()]) * micro_batch.weight
        rate = learning_rate(update.number, self._training, self._config.model.d_model)
        norm = self._optimization.step(update.number, rate)
        window.tokens += update.target_tokens
        window.updates += 1
        window.waited += update.waited
        window.gradient_norm += norm if math.isfinite(norm) else 0.0
        return sums, norm

    def _validate(self, applied: int, progress: Progress) -> None:
        """Looks at the model, which is that after update `applied`."""
        begin = time.perf_counter()
        with self._optimization.evaluating():
            findings: Findings = self._validator(self._model)
        bleu = findings.bleu.value if findings.bleu else None
        scores = State(applied, loss=findings.loss, bleu=bleu, measure=self._validator.measure)
        self._validated.append(scores)
        best = max(self._validated, key=goodness(self._validated)) is scores
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

    def _save(self, applied: int, run: Run, skipping: Skipping) -> None:
        """Writes the checkpoint of update `applied`. RuntimeError if the weights are not finite, or it is none."""
        if not applied:
            raise skipping.failure(f"none of {self._done} updates could be applied")
        if not all(bool(weight.isfinite().all()) for weight in self._model.parameters()):
            raise skipping.failure(f"the weights after update {applied} are not finite")
        if self._processes.leads:
            found = next((scores for scores in self._validated[-1:] if scores.step == applied), State(applied))
            state = replace(found, vocabulary=self._vocabularies.fingerprint)
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
            f"{run.folder} will need up to {bytes_text(kept * 12 * weights)}"
        )
        if per_update < self._processes.count:
            self._say(
                f"WARNING: {self._processes.count - per_update} of {self._processes.count} processes have nothing to do: an "
                f"update has {per_update} micro-batches; set training.micro_batch_tokens=auto, or to "
                f"{training.update_tokens // self._processes.count} at most"
            )

    def _say(self, text: str) -> None:
        if self._processes.leads:
            print(text, file=sys.stderr)
