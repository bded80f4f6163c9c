"""`mtkit translate` as a user meets it (T2-T5, T9, T10, T12, T18, T19): streams, formats, files, messages."""

import io
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from mtkit import checkpoint
from mtkit.cli.main import main
from mtkit.config.schema import Config
from mtkit.config.schema import Vocabulary as VocabularyOptions
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.data.vocabulary import EOS
from mtkit.model.transformer import Transformer

ROOT = Path(__file__).parents[2]
Mtkit = Callable[..., subprocess.CompletedProcess[str]]
WORDS = ("the", "cat", "sees", "a", "dog", "Haus", "café", "tree.", "and")


def make_run(folder: Path, vocabularies: Vocabularies, seed: int) -> None:
    sizes = {"d_model": 16, "d_ff": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
    decoding = {"beam_size": 3, "max_length_constant": 6}
    config = Config.model_validate({"model": sizes, "decoding": decoding})
    torch.manual_seed(seed)
    model = Transformer(config.model, len(vocabularies.target))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "cross_attention." in name or name.endswith("bias"):
                parameter.normal_()
        model.embedding.weight[EOS] *= 3.0  # the strongest words win, and these are not bytes
        model.embedding.weight[260:] *= 3.0
    run = checkpoint.create_run(folder, config, vocabularies, {})
    run.save(checkpoint.State(step=7, vocabulary=vocabularies.fingerprint), model.state_dict())


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs/a, runs/b (the newest, same vocabulary) and other/c (another vocabulary)."""
    folder = tmp_path_factory.mktemp("home")
    options = VocabularyOptions(size=400, soft_limit=True)
    vocabularies = learn_vocabularies([{word: 20 - place for place, word in enumerate(WORDS)}], options)
    make_run(folder / "runs" / "a", vocabularies, 1)
    make_run(folder / "runs" / "b", vocabularies, 2)
    make_run(folder / "other" / "c", learn_vocabularies([{"something": 5, "else": 4}], options), 3)
    os.utime(folder / "runs/a/checkpoints/step-00000007/state.json", ns=(0, 0))
    return folder


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        assert self.out == "" or self.out.endswith("\n")
        return self.out.split("\n")[:-1]


Call = Callable[..., Done]


@pytest.fixture
def translate(home: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Call]:
    """translate(*arguments, stdin=bytes) in `home`, on the CPU, in this process."""
    monkeypatch.chdir(home)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # enough for a model this small

    def call(*arguments: str, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "argv", ["mtkit", "translate", "--device", "cpu", *arguments])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main()
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode("utf-8"), err.decode("utf-8"))

    yield call
    torch.set_num_threads(threads)


def process(home: Path, *arguments: str, **environment: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "mtkit", "translate", "--device", "cpu", *arguments]
    settings = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"} | environment
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=home, env=settings, stdin=pipe, stdout=pipe, stderr=pipe)


def test_lines_in_lines_out_with_the_newest_run(translate: Call) -> None:
    done = translate(stdin=b"the cat\n\n   \n\t\nthe dog")
    assert done.code == 0, done.err
    assert len(done.lines) == 5
    assert done.lines[1:4] == ["", "", ""]
    assert all((done.lines[0], done.lines[4]))
    first, *_, last = done.err.splitlines()
    assert first == "on cpu: runs/b, update 7 (the newest run)"
    assert last.startswith("translated 5 lines, ")
    assert "3 blank, 0 in pieces" in last
    assert translate("--model", "runs/b", stdin=b"the cat\n").lines == done.lines[:1]
    assert translate("--model", "runs/a", stdin=b"the cat\n").lines != done.lines[:1]


def test_no_lines_no_output(translate: Call) -> None:
    done = translate()
    assert (done.code, done.out) == (0, "")


def test_only_newlines_end_lines_and_byte_order_marks_vanish(translate: Call) -> None:
    raw = "\ufeffthe cat\r\na\u2028dog\nthe\rcat\x0band\x85a".encode()
    done = translate("--format", "jsonl", stdin=raw)
    sources = [json.loads(line)["source"] for line in done.lines]
    assert sources == ["the cat", "a\u2028dog", "the\rcat\x0band\x85a"]


def test_files_in_and_out(translate: Call, home: Path) -> None:
    (home / "in.txt").write_bytes(b"the cat\na dog\n")
    done = translate("--input", "in.txt", "--output", "out.txt")
    assert (done.code, done.out) == (0, "")
    assert (home / "out.txt").read_text("utf-8") == translate(stdin=b"the cat\na dog\n").out
    assert not list(home.glob(".tmp-*"))
    assert translate("--input", "in.txt", "--output", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "in.txt", "--output", "./in.txt"], "--output ./in.txt is the --input: give it another name"),
        (["--output", "runs"], "--output runs is a folder: name a file in it"),
        (["--output", "new/out.txt"], "--output new/out.txt: there is no folder"),
        (["--input", "none.txt"], "none.txt: no such file"),
        (["--set", "training.updates=3"], "--set training.updates=3: translate only has use for the section decoding"),
        (["--n-best", "4"], "n_best 4 is more than beam_size 3"),
        (["--model", "nowhere"], "nowhere: not a run folder"),
    ],
)
def test_mistakes_are_told_and_nothing_is_written(arguments: list[str], message: str, translate: Call, home: Path) -> None:
    (home / "in.txt").write_bytes(b"the cat\n")
    done = translate(*arguments, stdin=b"the cat\n")
    assert done.code == 2
    assert done.out == ""
    assert message in done.err.splitlines()[-1]
    assert (home / "in.txt").read_bytes() == b"the cat\n"


def test_bad_utf8_is_named_and_the_lines_before_it_are_answered(translate: Call, home: Path) -> None:
    raw = b"the cat\na dog\nCaf\xe9\nthe dog\n"
    done = translate(stdin=raw)
    assert done.code == 2
    assert done.lines == translate(stdin=b"the cat\na dog\n").lines
    assert "Error: stdin:3: invalid UTF-8 (byte 0xE9 at column 4)" in done.err
    (home / "bad.txt").write_bytes(raw)
    done = translate("--input", "bad.txt", "--output", "never.txt")
    assert done.code == 2
    assert "Error: bad.txt:3: invalid UTF-8" in done.err
    assert not (home / "never.txt").exists()


def test_text_with_n_best_has_always_n_lines_a_line(translate: Call) -> None:
    done = translate("--n-best", "3", stdin=b"the cat\n\na dog\n")
    assert len(done.lines) == 9
    assert done.lines[3:6] == ["", "", ""]
    assert [done.lines[0], done.lines[6]] == translate(stdin=b"the cat\na dog\n").lines
    assert len(set(done.lines[:3])) > 1


def test_tsv(translate: Call) -> None:
    done = translate("--n-best", "2", "--format", "tsv", stdin=b"the\tcat\n\na dog\n")
    rows = [line.split("\t") for line in done.lines]
    assert [row[:2] for row in rows] == [["1", "1"], ["1", "2"], ["2", "1"], ["3", "1"], ["3", "2"]]
    assert rows[2] == ["2", "1", "0.000000", "0.000000", "0", "-", "", "", ""]
    for _, _, score, log_probability, length, flags, alignment, tokens, text in [*rows[:2], *rows[3:]]:
        assert float(score) == pytest.approx(float(log_probability) / ((5 + int(length)) / 6) ** 0.6, abs=1e-5)
        assert flags in ("-", "truncated")
        assert len(tokens.split()) == int(length) - (flags == "-")
        pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
        assert {target for _, target in pairs} <= set(range(len(text.split())))
        assert {source for source, _ in pairs} <= {0, 1}


def test_jsonl_tells_everything(translate: Call) -> None:
    source = 'the cat sees <b> "and" a café'
    done = translate("--format", "jsonl", "--set", "decoding.max_length_factor=0.0", stdin=f"{source}\n\n".encode())
    first, blank = (json.loads(line) for line in done.lines)
    told = ["line", "source", "pieces", "warnings", "length_penalty", "alpha", "coverage_penalty", "hypotheses"]
    assert list(first) == told
    assert (first["line"], first["source"], first["pieces"], first["alpha"]) == (1, source, 1, 0.6)
    (best,) = first["hypotheses"]
    assert list(best) == ["text", "length", "score", "log_probability", "truncated", "looping", "tokens", "alignment"]
    assert best["length"] <= 6
    assert blank["hypotheses"] == [
        {"text": "", "length": 0, "score": 0.0, "log_probability": 0.0, "truncated": False, "looping": False}
        | {"tokens": [], "alignment": []}
    ]
    assert done.out.isascii() is False, "readable, not escaped"


def test_warnings_and_their_summary(translate: Call) -> None:
    long = " ".join(["the dog."] * 10)
    limits = ["--set", "decoding.max_source_tokens=8", "--set", "decoding.max_length_factor=0.0", "--beam-size", "1"]
    done = translate(*limits, stdin=f"cat\n{long}\ncat\n".encode())
    assert len(done.lines) == 3
    (told,) = [line for line in done.err.splitlines() if "max_source_tokens" in line]
    assert told.startswith("WARNING: line 2: ")
    assert "over decoding.max_source_tokens 8: translated in " in told
    cut = done.err.count("output reached the length limit")
    assert f"1 in pieces, {cut} cut by the length limit" in done.err.splitlines()[-1]
    assert cut > 0


def test_options_win_over_the_run_and_set_over_options(translate: Call) -> None:
    def beams(*arguments: str) -> int:
        done = translate("--format", "tsv", *arguments, stdin=b"the cat sees\n")
        assert done.code == 0, done.err
        return len(done.lines)

    assert beams() == 1
    assert beams("--n-best", "3") == 3
    assert beams("--beam-size", "5", "--n-best", "5") == 5
    assert beams("--n-best", "3", "--set", "decoding.n_best=2") == 2


def test_several_models_are_an_ensemble_of_one_vocabulary(translate: Call) -> None:
    one = translate("--model", "runs/a", stdin=b"the cat\na dog\n")
    twice = translate("--model", "runs/a", "--model", "runs/a", stdin=b"the cat\na dog\n")
    assert twice.out == one.out
    both = translate("--model", "runs/a", "--model", "runs/b", stdin=b"the cat\na dog\n")
    assert both.code == 0
    assert "runs/a, update 7 and runs/b, update 7" in both.err
    other = translate("--model", "runs/a", "--model", "other/c", stdin=b"the cat\n")
    assert other.code == 2
    assert other.err.splitlines()[-1].startswith("Error: vocabulary differs: runs/a has ")
    assert ", other/c has " in other.err


def test_without_a_run_it_says_what_to_do(translate: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = translate(stdin=b"the cat\n")
    assert done.code == 2
    assert "run mtkit train first, or name one with --model RUN" in done.err


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_a_gpu_that_is_not_there_is_never_replaced(translate: Call) -> None:
    done = translate("--device", "cuda", stdin=b"the cat\n")
    assert done.code == 2
    assert "Error: cuda not available: 0 visible" in done.err
    assert done.out == ""


def test_help_tells_the_formula(translate: Call) -> None:
    done = translate("--help")
    assert done.code == 0
    assert "((5 + length) / 6)^alpha" in done.out


def test_utf8_whatever_the_locale(home: Path, translate: Call) -> None:
    text = "the café Haus\n".encode()
    running = process(home, "--format", "jsonl", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    out, err = running.communicate(text, timeout=100)
    assert running.returncode == 0, err
    assert json.loads(out.decode("utf-8"))["source"] == "the café Haus"
    assert out.decode("utf-8") == translate("--format", "jsonl", stdin=text).out


def test_a_coprocess_gets_each_line_before_it_sends_the_next(home: Path) -> None:
    running = process(home, "--set", "decoding.buffer=1")
    assert running.stdin is not None
    assert running.stdout is not None
    for _ in range(5):
        running.stdin.write(b"the cat\n")
        running.stdin.flush()
        ready, _, _ = select.select([running.stdout], [], [], 60)
        assert ready, "no answer"
        assert running.stdout.readline().endswith(b"\n")
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (0, b""), err


def test_closed_streams(home: Path) -> None:
    """What is told never gets among the data, and data never gets lost without a word."""
    command = [sys.executable, "-m", "mtkit", "translate", "--device", "cpu"]
    settings = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}

    def run(closing: str) -> "subprocess.CompletedProcess[bytes]":
        shell = ["sh", "-c", f'exec "$@" {closing}', "sh", *command]
        return subprocess.run(shell, cwd=home, env=settings, input=b"the cat\n", capture_output=True, check=False)

    done = run("2>&-")
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 1, done.stdout
    assert b"runs/b" not in done.stdout
    done = run(">&-")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == b"Error: stdout is closed: give --output FILE"
    done = run("<&- 2>&-")
    assert (done.returncode, done.stdout) == (2, b"")


def test_a_reader_that_leaves_ends_it_quietly(home: Path) -> None:
    running = process(home, "--set", "decoding.buffer=10", "--beam-size", "1")
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write(b"the cat\n" * 5000)
    running.stdin.flush()
    assert running.stdout.readline()
    running.stdout.close()
    running.stdin.close()
    assert running.stderr is not None
    with running.stderr:
        err = running.stderr.read()
    assert running.wait(timeout=60) == 0, err
    assert b"Error" not in err
    assert b"Traceback" not in err


def test_another_engine_answers_in_the_same_pipeline(toy_corpus: Path, toy_run: Path, mtkit: Mtkit) -> None:
    """Formats, order, blank lines and warnings are the pipeline's; greedy answers are the same."""
    lines = (toy_corpus / "test.en").read_text().splitlines()
    (toy_corpus / "with blanks.en").write_text("\n".join([*lines[:5], "", *lines[5:]]) + "\n")
    call = ("translate", "--model", str(toy_run), "--input", "with blanks.en", "--format", "jsonl", "--beam-size", "1")
    own, other = (mtkit(toy_corpus, *call, "--set", f"decoding.engine={engine}") for engine in ("mtkit", "ctranslate2"))
    assert (own.returncode, other.returncode) == (0, 0), other.stderr
    told = [[json.loads(line) for line in done.stdout.splitlines()] for done in (own, other)]
    for answers in told:
        for answer in answers:
            for hypothesis in answer["hypotheses"]:
                assert hypothesis.pop("score") <= 0
                assert hypothesis.pop("log_probability") <= 0
    assert told[0] == told[1]
    assert len(told[1]) == len(lines) + 1


def test_an_engine_that_is_not_installed_is_told_with_the_cure(
    toy_corpus: Path, toy_run: Path, mtkit: Mtkit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    call = ("translate", "--model", str(toy_run), "--input", "test.en", "--set", "decoding.engine=ctranslate2")
    done = mtkit(toy_corpus, *call)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: ctranslate2 is not installed: pip install 'mtkit[ctranslate2]'" in done.stderr


def test_json_lines_bring_wishes_and_fields_of_their_own(translate: Call) -> None:
    asked: list[dict[str, Any]] = [
        {"id": 7, "source": "the cat sees", "prefix": "Haus", "required": ["tree.", ["zzz", "dog"]], "forbidden": ["the"]},
        {"source": "a dog", "note": {"deep": ["😀", None, "\ud800"]}},
        {"source": "", "required": ["cat"]},
    ]
    raw = "".join(json.dumps(each) + "\n" for each in asked).encode()
    done = translate("--input-format", "jsonl", "--format", "jsonl", stdin=raw)
    assert done.code == 0, done.err
    first, second, blank = (json.loads(line) for line in done.lines)
    assert list(first)[:6] == ["line", "source", "id", "prefix", "required", "forbidden"]
    assert {name: first[name] for name in asked[0]} == asked[0]
    words = first["hypotheses"][0]["text"]
    assert words.startswith("Haus")
    assert "tree." in words
    assert "zzz" in words or "dog" in words
    assert "the" not in words.split()
    assert second["note"] == asked[1]["note"]
    assert blank["hypotheses"][0]["text"] == ""
    plain = translate("--input-format", "jsonl", stdin=raw)
    assert plain.lines == [each["hypotheses"][0]["text"] for each in (first, second, blank)]
    assert second["hypotheses"][0]["text"] == translate(stdin=b"a dog\n").lines[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("", "not JSON at column 1: each line must be an object"),
        ("the cat", "not JSON at column 1"),
        ('["the cat"]', "is no object"),
        ("{}", '"source" is missing: give the text to translate'),
        ('{"source": 3}', '"source" is 3: give the text'),
        ('{"source": "a", "prefix": null}', '"prefix" is null: give text'),
        ('{"source": "a", "required": "b"}', '"required" is "b": give a list'),
        ('{"source": "a", "required": [[]]}', '"required" holds []: give phrases'),
        ('{"source": "a", "required": [1]}', '"required" holds 1: give phrases'),
        ('{"source": "a", "forbidden": [["b"]]}', '"forbidden" is [["b"]]: give a list of phrases'),
        ('{"source": "a", "required": [" "]}', "phrase is blank"),
        ('{"source": "a", "required": ["b c"], "forbidden": ["c"]}', "must be in the translation and 'c' must not"),
        ('{"source": "a", "hypotheses": 1}', 'the output has a field "hypotheses" of its own: rename it'),
        ('{"source": "a", "x": NaN}', "NaN is no JSON: write null"),
        ("[" * 100_000, "not JSON"),
        ('{"source": "a", "x": -1e999}', "-1e999 is too large a number: write it as text"),
        ('{"source": "a", "x": %s}' % ("9" * 5000), "99999… is too large a number: write it as text"),
        ('{"source": "a", "required": ["b"], "required": ["c"]}', 'there are 2 fields "required": leave one of them'),
    ],
)
def test_what_is_wrong_with_a_json_line_is_told_and_those_before_it_answered(line: str, told: str, translate: Call) -> None:
    done = translate("--input-format", "jsonl", stdin=f'{{"source": "the cat"}}\n{line}\n'.encode())
    assert done.code == 2
    assert done.lines == translate(stdin=b"the cat\n").lines
    last = done.err.splitlines()[-1]
    assert last.startswith("Error: stdin:2: ")
    assert told in last


def test_a_glossary(translate: Call, home: Path) -> None:
    (home / "terms.tsv").write_text("cat\tKater\tKatze\nbig dog\tgroßer Hund\n", encoding="utf-8")
    done = translate("--set", "decoding.glossary=terms.tsv", stdin=b"the Cat\na dog\nthe big dog\n")
    assert done.code == 0, done.err
    assert "Kater" in done.lines[0] or "Katze" in done.lines[0]
    assert done.lines[1] == translate(stdin=b"a dog\n").lines[0]
    assert "großer Hund" in done.lines[2]
    assert translate("--set", "decoding.glossary=none.tsv").err.splitlines()[-1].endswith("none.tsv: no such file")


def test_several_devices_give_what_one_gives(translate: Call) -> None:
    raw = "".join(f"the cat sees {word} café\n\n" for word in WORDS).encode()
    more = ["--set", "decoding.buffer=5"]
    one, two = translate(*more, stdin=raw), translate(*more, "--devices", "2", stdin=raw)
    assert two.code == 0, two.err
    assert two.out == one.out
    assert two.err.startswith("on cpu, cpu: runs/b, update 7")


def test_what_goes_wrong_on_one_of_several_devices_is_told(translate: Call) -> None:
    long = " ".join(["the dog."] * 10)
    refuse = ["--set", "decoding.max_source_tokens=8", "--set", "decoding.long_lines=error", "--devices", "2"]
    done = translate(*refuse, stdin=f"cat\ncat\ncat\n{long}\n".encode())
    assert done.code == 2
    assert "Error: line 4: 30 tokens, over decoding.max_source_tokens 8" in done.err.splitlines()[-1]
    for more, told in (
        (["--devices", "3", "--set", "decoding.buffer=2"], "--devices 3: decoding.buffer 2 has no line for each: raise it"),
        (["--devices", "2", "--set", "decoding.glossary=none.tsv"], "none.tsv: no such file"),
        (["--device", "cuda:1", "--devices", "2"], "cuda:1"),
        (["--beam-size", "2", "--set", "decoding.search=sampling"], "--beam-size 2: sampling has no beam"),
    ):
        done = translate(*more, stdin=b"the cat\n")
        assert (done.code, done.out) == (2, "")
        assert told in done.err.splitlines()[-1]


def test_a_bar_fits_not_and_lines_tell_how_far_it_is(translate: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mtkit.support.progress.INTERVAL", 0.0)
    (home / "in.txt").write_bytes(b"the cat\na dog\nthe dog\n")
    told = translate("--input", "in.txt").err.splitlines()
    assert [line for line in told if re.fullmatch(r"translating: 2 of 3 lines, [\d.,]+ lines/s, \d+m\d\ds left", line)], told
    told = translate(stdin=b"the cat\na dog\n").err.splitlines()
    assert [line for line in told if re.fullmatch(r"translating: 2 lines, [\d.,]+ lines/s", line)], told


@pytest.mark.slow
def test_memory_is_flat_over_300_000_streamed_lines(home: Path) -> None:
    limits = ["--set", "decoding.max_length_factor=0.0", "--set", "decoding.max_length_constant=2"]
    running = process(home, "--beam-size", "1", *limits, "--format", "tsv")
    assert running.stdin is not None
    assert running.stdout is not None
    assert running.stderr is not None
    pipes = running.stdin, running.stdout, running.stderr
    for reader in pipes[1:]:
        os.set_blocking(reader.fileno(), False)
    block, sent, received = b"the cat\na dog\n\n" * 1000, 0, 0
    sizes: list[float] = []
    while received < 300_000:
        if sent < 300_000 and sent - received <= 9_000:
            running.stdin.write(block)
            running.stdin.flush()
            sent += 3000
        select.select(pipes[1:], [], [], 0.1)
        running.stderr.read()  # warnings
        received += (running.stdout.read() or b"").count(b"\n")
        if received // 20_000 > len(sizes):
            status = Path(f"/proc/{running.pid}/status").read_text()
            sizes.append(int(status.split("VmRSS:")[1].split()[0]) / 1024)
    running.stdin.close()
    for reader in pipes[1:]:
        reader.close()
    assert running.wait(timeout=60) == 0
    assert max(sizes) - sizes[1] < 20, f"{sizes} MiB"
