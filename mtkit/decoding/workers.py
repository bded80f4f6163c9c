"""Translating on several devices: a process for each, lines dealt out in turn, translations in the order of the lines.

Comes in: how to make a translator on a device, lines. Goes out: what one translator would have given. Knows no run folders.
"""

import itertools
import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

import torch

from mtkit.decoding.parts import Line
from mtkit.decoding.translator import Translation, Translator
from mtkit.support.errors import UserError

Build = Callable[[torch.device], Translator]
"""It is sent to another process, so it must be a function of a module, or a partial of one."""


class Workers:
    """One process a device. Used as a context: at its end the processes are gone, whatever happened."""

    def __init__(self, build: Build, devices: Sequence[torch.device], buffer: int) -> None:
        """buffer: lines read ahead, by all processes together."""
        self._build, self._devices, self._buffer = build, devices, buffer
        self._workers: list[tuple[BaseProcess, Connection]] = []

    def __enter__(self) -> "Workers":
        spawning = multiprocessing.get_context("spawn")  # a forked process must not touch a GPU that its parent has used
        threads = max(1, torch.get_num_threads() // len(self._devices))
        for number, device in enumerate(self._devices, 1):
            ours, theirs = spawning.Pipe()
            arguments = (self._build, device, threads, theirs)
            process = spawning.Process(target=_work, args=arguments, name=f"translator {number}", daemon=True)
            process.start()
            theirs.close()
            self._workers.append((process, ours))
        return self

    def __exit__(self, *_: object) -> None:
        for process, connection in self._workers:
            connection.close()
            process.terminate()
        for process, _connection in self._workers:
            process.join()

    def translate(self, lines: Iterable[str | Line]) -> Iterator[Translation]:
        """As `Translator.translate`. Each process has one share of lines at a time."""
        source = (Line(line) if isinstance(line, str) else line for line in lines)
        turns = itertools.cycle(self._workers)
        busy: list[tuple[BaseProcess, Connection]] = []  # those that work, in the order of their lines
        first = 1
        while block := list(itertools.islice(source, self._buffer)):
            size = -(-len(block) // len(self._workers))
            for start in range(0, len(block), size):
                worker = next(turns)
                if worker in busy:
                    yield from _answer(*busy.pop(0))
                _send(*worker, (block[start : start + size], first + start))
                busy.append(worker)
            first += len(block)
        for worker in busy:
            yield from _answer(*worker)


def _send(process: BaseProcess, connection: Connection, share: tuple[list[Line], int]) -> None:
    try:
        connection.send(share)
    except (BrokenPipeError, ConnectionResetError):
        raise _lost(process) from None


def _answer(process: BaseProcess, connection: Connection) -> list[Translation]:
    """What a worker made of its share; its UserError, if it had one."""
    try:
        answer = connection.recv()
    except (EOFError, ConnectionResetError):
        raise _lost(process) from None
    if isinstance(answer, Exception):
        raise answer
    translations: list[Translation] = answer
    return translations


def _lost(process: BaseProcess) -> RuntimeError:
    process.join(5.0)
    why = "killed, perhaps for want of memory" if process.exitcode == -signal.SIGKILL else f"exit code {process.exitcode}"
    return RuntimeError(f"the process of {process.name} has gone ({why})")


def _work(build: Build, device: torch.device, threads: int, connection: Connection) -> None:
    """A worker's life: takes shares of lines until nobody sends any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes of a terminal; the parent ends this one
    torch.set_num_threads(threads)
    translator: Translator | None = None
    while True:
        try:
            lines, first = connection.recv()
        except EOFError:
            return
        try:
            translator = translator or build(device)
            connection.send(list(translator.translate_chunk(lines, first)))
        except UserError as error:
            connection.send(error)
        except Exception as error:  # noqa: BLE001 - it is told by the parent
            connection.send(RuntimeError(f"{type(error).__name__}: {error}"))
