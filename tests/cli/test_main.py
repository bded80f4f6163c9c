"""The command line as such: help, versions, exit codes and what is said on which stream, with stand-in commands."""

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ENVIRONMENT = {**os.environ, "PYTHONUNBUFFERED": ""}
"""A user's: what is printed waits in a buffer."""

STAND_IN = """
import os, sys, types
import click
import mtkit.cli.main as main
from mtkit.cli.options import config_option, debug_option, device_option, set_option
from mtkit.support.errors import UserError

@click.command()
@config_option(required=False)
@set_option
@device_option
@debug_option
def train(config, overrides, device):
    BODY

@click.command()
@config_option()
def prepare(config):
    print(config)

module = types.ModuleType("stand_in")
module.train, module.prepare = train, prepare
sys.modules["stand_in"] = module
main.COMMANDS = {"train": ("stand_in", "train", "Train."), "prepare": ("stand_in", "prepare", "Prepare.")}
sys.exit(main.main())
"""


def run(*arguments: str, program: tuple[str, ...] = ("-m", "mtkit"), **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *program, *arguments]
    return subprocess.run(
        command, capture_output=True, encoding="utf-8", cwd=ROOT, env={**ENVIRONMENT, **environment}, check=False
    )


def stand_in(body: str) -> tuple[str, ...]:
    """Runs mtkit with a command `train` that does `body` and nothing else."""
    return ("-c", STAND_IN.replace("BODY", body))


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules), file=sys.stderr))\n"
        "from mtkit.cli.main import main\n"
        "sys.exit(main())"
    )
    done = run("--help", program=("-c", program))
    assert done.returncode == 0
    commands = done.stdout[done.stdout.index("Commands:") :]
    assert [line.split()[0] for line in commands.splitlines()[1:] if line[2:3].strip()] == [
        "prepare",
        "train",
        "translate",
        "score",
        "evaluate",
        "average",
        "describe",
        "export",
        "report",
    ]
    imported = set(done.stderr.split())
    assert "mtkit.cli.main" in imported
    assert imported.isdisjoint({"torch", "datasets", "pydantic", "sacrebleu", "sentencepiece", "numpy", "yaml"})
    assert {name for name in imported if name.startswith("mtkit.cli.")} == {"mtkit.cli.main", "mtkit.cli.options"}


def test_no_argument_is_help() -> None:
    assert run().stdout == run("--help").stdout


def test_version_names_what_results_depend_on() -> None:
    done = run("--version")
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        "mtkit",
        "Python",
        "torch",
        "sentencepiece",
        "sacrebleu",
    ]
    assert all(line.split()[1][0].isdigit() for line in done.stdout.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trian"], "No such command 'trian' (did you mean 'train'?). See 'mtkit --help'."),
        (["xyz"], "No such command 'xyz' (there are: train, prepare). See 'mtkit --help'."),
        (["--debug"], "Missing command. See 'mtkit --help'."),
        (["train", "extra"], "unexpected extra argument (extra) See 'mtkit train --help'."),
        (["prepare"], "Missing option '--config'. See 'mtkit prepare --help'."),
        (["train", "--confg", "x"], "--config"),
        (["train", "--device", "gpu"], "'gpu' is not one of auto, cpu, cuda, cuda:N. See 'mtkit train --help'."),
        (["train", "--device", "cuda:"], "'cuda:' is not one of auto, cpu, cuda, cuda:N."),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(arguments: list[str], message: str) -> None:
    done = run(*arguments, program=stand_in("pass"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_shared_options_reach_the_command() -> None:
    program = stand_in("print(config, overrides, device)")
    assert run("train", program=program).stdout == "None () auto\n"
    done = run("train", "--config", "a", "--set", "a.b=1", "--set", "c.d=x y", "--device", "cuda:12", program=program)
    assert done.stdout == "a ('a.b=1', 'c.d=x y') cuda:12\n"


@pytest.mark.parametrize("arguments", [["train"], ["--debug", "train"]])
def test_what_the_user_can_mend_exits_2_without_a_traceback(arguments: list[str]) -> None:
    done = run(*arguments, program=stand_in("raise UserError('a.yaml:3: wrong')"))
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "Error: a.yaml:3: wrong\n")


def test_a_fault_of_ours_exits_1() -> None:
    done = run("train", program=stand_in("raise ValueError('odd')"))
    told = "Error: internal failure: ValueError: odd\nrun again with --debug for the traceback\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


@pytest.mark.parametrize("arguments", [["--debug", "train"], ["train", "--debug"]])
def test_debug_shows_the_traceback_on_either_side_of_the_command(arguments: list[str]) -> None:
    done = run(*arguments, program=stand_in("raise ValueError('odd')"))
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.endswith("\nError: internal failure: ValueError: odd\n")


def test_running_out_of_memory_keeps_its_text() -> None:
    done = run("train", program=stand_in("raise MemoryError"))
    assert done.stderr.startswith("Error: internal failure: MemoryError\n")
    told = "CUDA out of memory. Tried to allocate 2.00 GiB."
    body = f"raise type('OutOfMemoryError', (RuntimeError,), {{}})({told!r})"
    assert told in run("train", program=stand_in(body)).stderr


@pytest.mark.parametrize("exception", ["KeyboardInterrupt", "click.Abort"])
def test_an_interruption_exits_130(exception: str) -> None:
    done = run("train", program=stand_in(f"raise {exception}"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


INTERRUPTING = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""
"""A `sitecustomize` that sends Ctrl-C when a module is about to be imported."""

EARLY_MODULES = (
    "mtkit.cli",
    "mtkit.cli.main",
    "click",
    "mtkit.cli.options",
    "mtkit.cli.train",
    "mtkit.config.loader",
    "torch",
)


@pytest.mark.parametrize("module", EARLY_MODULES)
def test_an_interruption_may_come_early(module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    arguments = ["train", "--config", "base.yaml", "--data", str(tmp_path)]
    for way in (("-m", "mtkit"), ("-c", "import sys; from mtkit.__main__ import main; sys.exit(main())")):
        done = run(*arguments, program=way, INTERRUPTED_AT=module, PYTHONPATH=path)
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_an_interruption_that_is_to_be_ignored_is(tmp_path: Path) -> None:
    """As in a background job of a shell script."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING + "signal.signal(signal.SIGINT, signal.SIG_IGN)\n")
    for module in EARLY_MODULES[:4]:
        done = run("--help", INTERRUPTED_AT=module, PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
        assert (done.returncode, done.stderr) == (0, "")


def test_the_command_is_what_is_installed() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="mtkit")
    assert script.value == "mtkit.__main__:main"


def test_an_exit_code_of_the_command_is_kept() -> None:
    assert run("train", program=stand_in("click.get_current_context().exit(3)")).returncode == 3
    assert run("train", program=stand_in("return 3")).returncode == 0


@pytest.mark.parametrize("lines", [1, 100_000])
def test_a_reader_that_stops_reading_is_no_error(lines: int) -> None:
    body = f"sys.stdin.read(); [print('a line of text') for _ in range({lines})]"
    process = subprocess.Popen(
        [sys.executable, *stand_in(body), "train"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.close()
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait() == 0


def test_another_broken_pipe_is_a_fault() -> None:
    done = run("train", program=stand_in("raise BrokenPipeError(32, 'a worker died')"))
    assert done.returncode == 1
    assert "a worker died" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("argument", ["train", "--version", "--help"])
def test_output_that_cannot_be_written_is_an_error_told_once(argument: str) -> None:
    command = [sys.executable, *stand_in("print('text')"), argument]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=ENVIRONMENT, check=False
        )
    told = "Error: stdout: cannot be written (No space left on device): make room where it is sent to\n"
    assert (done.returncode, done.stderr) == (2, told)


@pytest.mark.parametrize(
    "environment",
    [{"PYTHONIOENCODING": "latin-1"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}],
)
def test_streams_are_utf8_in_any_locale(environment: dict[str, str]) -> None:
    program = stand_in(r"print('gr\xfcn \u7dd1'); raise UserError('gr\xf6\xdfer \u7dd1')")
    done = run("train", program=program, **environment)
    assert (done.stdout, done.stderr) == ("grün 緑\n", "Error: größer 緑\n")


def test_a_file_name_that_is_not_text_can_be_named() -> None:
    done = run("train", program=stand_in(r"raise UserError('no such file: \udcff.txt')"))
    assert (done.returncode, done.stderr) == (2, "Error: no such file: \\udcff.txt\n")
