"""`mtkit evaluate` as a user meets it: models and files, signed scores, and what does not go together (E1, E2, E3, E6)."""

import hashlib
import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu

Done = subprocess.CompletedProcess[str]


@pytest.fixture
def home(toy_corpus: Path, toy_run: Path, tmp_path: Path) -> Path:
    """A folder with the corpus, `data/toy` and `runs/toy`; the run's config names the data as a user's does."""
    shutil.copytree(toy_corpus, tmp_path, dirs_exist_ok=True)
    config = tmp_path / "runs" / "toy" / "config.yaml"
    config.write_text(config.read_text().replace(str(toy_corpus / "data" / "toy"), "data/toy"))
    return tmp_path


@pytest.fixture
def evaluate(mtkit: Callable[..., Done], home: Path) -> Callable[..., Done]:
    """evaluate(*arguments) in `home`."""
    return lambda *arguments: mtkit(home, "evaluate", "--device", "cpu", *arguments)


Call = Callable[..., Done]


def scores(done: Done) -> list[dict[str, dict[str, object]]]:
    """Of each system in JSON output: metric -> what is told of it."""
    assert done.returncode == 0, done.stderr
    return [{found["metric"]: found for found in system["scores"]} for system in json.loads(done.stdout)["systems"]]


def test_the_newest_run_on_the_test_text_of_its_data(evaluate: Call, home: Path) -> None:
    done = evaluate()
    assert done.returncode == 0, done.stderr
    name, bleu, chrf = done.stdout.splitlines()
    assert name == "runs/toy"
    interval = r"[\d.]+ ± [\d.]+ \(95 %, bs:1000\|seed:12345\)"
    signature = rf"version:{re.escape(sacrebleu.__version__)}"
    assert re.fullmatch(
        rf"  BLEU = [\d.]+ .* \| nrefs:1\|.*\|tok:13a\|.*{signature} \| test of toy, 40 lines \| {interval}", bleu
    )
    assert re.fullmatch(rf"  chrF2 = [\d.]+ \| nrefs:1\|.*{signature} \| test of toy, 40 lines \| {interval}", chrf)
    first, *_, last = done.stderr.splitlines()
    assert first.endswith("translating test of toy, 40 lines")
    (kept,) = (home / "runs" / "toy" / "translations").iterdir()
    assert last == f"kept the translation in {kept.relative_to(home)}"
    step = re.search(r"update (\d+): ", first)
    assert step
    assert kept.name == f"test-of-toy.step-{int(step[1]):08d}.de"
    lines = kept.read_text("utf-8").splitlines()
    reference = (home / "test.de").read_text().splitlines()
    assert f"BLEU = {sacrebleu.corpus_bleu(lines, [reference]).score:.2f} " in bleu
    again = evaluate("--hypothesis", str(kept), "--reference", "test.de")
    assert again.stdout.splitlines()[1].split(" | ")[0] == bleu.split(" | ")[0]


@pytest.mark.parametrize("side", ["en", "de"])
def test_another_test_text_is_told_and_goes_by_another_name(
    evaluate: Call, mtkit: Callable[..., Done], home: Path, side: str
) -> None:
    assert mtkit(home, "average", "runs/toy").returncode == 0
    assert "WARNING" not in evaluate("--model", "runs/toy-average").stderr
    file = home / "data" / "toy" / f"test.{side}"
    file.write_text(file.read_text().replace("bako", "timu"))
    digests = [hashlib.sha256((home / "data" / "toy" / f"test.{each}").read_bytes()).hexdigest() for each in ("en", "de")]
    label = f"test of toy, source {digests[0][:8]} target {digests[1][:8]}"
    for run in ("runs/toy", "runs/toy-average"):
        done = evaluate("--model", run)
        assert done.returncode == 0, done.stderr
        warning = done.stderr.splitlines()[0]
        assert warning.startswith(f"WARNING: data/toy: its test text is not the one that {run} began beside (the run has ")
        assert all(digest in warning for digest in digests)
        assert all(f" | {label}, 40 lines | " in line for line in done.stdout.splitlines()[1:])
    assert "WARNING" not in evaluate("--source", "test.en", "--reference", "test.de").stderr


def test_json(evaluate: Call) -> None:
    done = evaluate("--model", "runs/toy", "--format", "json", "--set", "evaluation.metrics=[bleu, ter]")
    (system,) = json.loads(done.stdout)["systems"]
    assert system["system"] == "runs/toy"
    assert [found["metric"] for found in system["scores"]] == ["bleu", "ter"]
    for found in system["scores"]:
        assert found.keys() == {"metric", "value", "summary", "signature", "test_set", "sentences", "interval"}
        assert (found["test_set"], found["sentences"]) == ("test of toy", 40)


def test_the_score_of_a_validation_is_that_of_its_checkpoint(evaluate: Call, mtkit: Call, home: Path) -> None:
    records = [json.loads(line) for line in (home / "runs/toy/metrics.jsonl").read_text().splitlines()]
    logged = {record["update"]: record for record in records if "validation_bleu" in record}
    assert sorted(logged) == [20, 40, 60]
    files = ["--source", "data/toy/validation.en", "--reference", "data/toy/validation.de"]
    for update in (40, 60):
        done = evaluate("--model", f"runs/toy/checkpoints/step-{update:08d}", *files, "--format", "json")
        found = scores(done)[0]["bleu"]
        assert found["value"] == pytest.approx(logged[update]["validation_bleu"], abs=0.01)
        assert logged[update]["signature"] == f"{found['signature']} | validation, 40 lines"
    assert logged[60]["validation_bleu"] > 1.0  # or equality would mean nothing
    done = mtkit(home, "translate", "--device", "cpu", "--model", "runs/toy/checkpoints/step-00000060", "--input", files[1])
    reference = (home / files[3]).read_text().splitlines()
    own = sacrebleu.corpus_bleu(done.stdout.splitlines(), [reference]).score
    assert own == pytest.approx(logged[60]["validation_bleu"], abs=0.01)


def test_several_models_and_decoding_options(evaluate: Call) -> None:
    models = [f"runs/toy/checkpoints/step-{update:08d}" for update in (20, 60)]
    done = evaluate(*(part for model in models for part in ("--model", model)), "--format", "json")
    assert [system["system"] for system in json.loads(done.stdout)["systems"]] == models
    early, late = scores(done)
    assert early["chrf"]["value"] != late["chrf"]["value"]
    (greedy,) = scores(evaluate("--model", models[1], "--format", "json", "--set", "decoding.beam_size=1"))
    assert greedy["chrf"]["value"] != late["chrf"]["value"]


def test_files_of_translations_need_no_model(evaluate: Call, home: Path) -> None:
    shutil.rmtree(home / "runs")
    (home / "second.de").write_text((home / "test.de").read_text().replace("bako", "timu"))
    done = evaluate("--hypothesis", "test.de", "--hypothesis", "second.de", "--reference", "test.de", "--format", "json")
    perfect, second = scores(done)
    assert perfect["bleu"]["value"] == pytest.approx(100.0)
    assert 10.0 < float(str(second["bleu"]["value"])) < 100.0
    assert done.stderr == ""
    done = evaluate("--hypothesis", "second.de", "--reference", "test.de", "--reference", "second.de", "--format", "json")
    (two,) = scores(done)
    assert two["bleu"]["value"] == pytest.approx(100.0)
    assert "nrefs:2" in str(two["bleu"]["signature"])


@pytest.mark.parametrize("lines", [39, 41])
def test_line_counts_that_differ_are_refused(evaluate: Call, home: Path, lines: int) -> None:
    text = [*(home / "test.de").read_text().splitlines(), "one more\u2028which is one line"]
    (home / "other.de").write_text("".join(f"{line}\n" for line in text[:lines]))
    done = evaluate("--hypothesis", "other.de", "--reference", "test.de", "--reference", "other.de")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: other.de: hypotheses {lines} lines, reference test.de 40 lines: ")
    done = evaluate("--source", "test.en", "--reference", "test.de", "--reference", "other.de")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == f"Error: line counts differ: test.en 40 lines, other.de {lines} lines"
    assert not (home / "runs" / "toy" / "translations").exists(), "nothing is translated in vain"


def test_unfinished_text_is_warned_of(evaluate: Call, home: Path) -> None:
    (home / "pieces.de").write_text((home / "test.de").read_text().replace(" ", "@@ "))
    done = evaluate("--hypothesis", "pieces.de", "--reference", "test.de")
    assert done.returncode == 0
    assert done.stderr.startswith("WARNING: pieces.de: 40 of 40 hypotheses do not look like finished text")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "runs/toy", "--hypothesis", "test.de"], "Give either --model or --hypothesis, not both."),
        (
            ["--test-set", "wmt13", "--reference", "test.de"],
            "Give either --test-set or --source and --reference, not both.",
        ),
        (["--test-set", "wmt13", "--source", "test.en"], "Give either --test-set or --source and --reference, not both."),
        (["--source", "test.en"], "--source needs a --reference to compare with."),
        (["--reference", "test.de"], "--reference needs the --source to translate, or a --hypothesis."),
        (["--hypothesis", "test.de"], "--hypothesis needs a --reference or a --test-set to compare with."),
        (["--test-set", "newstest2041"], "unknown test set 'newstest2041' for en-de"),
        (["--hypothesis", "none.de", "--reference", "test.de"], "/none.de: no such file"),
        (["--source", "none.en", "--reference", "test.de"], "/none.en: no such file"),
        (["--model", "data"], "data: not a run folder (no config.yaml in it)"),
        (["--set", "data.folder=none"], "none: not a prepared data folder"),
        (["--set", "evaluation.metrics=blue"], "evaluation.metrics"),
        (["--set", "training.updates=3"], "--set training.updates=3: evaluate only has use for the sections data, "),
    ],
)
def test_what_does_not_go_together_is_refused(evaluate: Call, arguments: list[str], message: str) -> None:
    done = evaluate(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr.splitlines()[-1]
    assert done.stderr.count("Error: ") == 1


def test_a_run_folder_that_cannot_be_written_costs_no_score(evaluate: Call, home: Path) -> None:
    (home / "runs" / "toy" / "translations").write_text("in the way")
    done = evaluate()
    assert done.returncode == 0, done.stderr
    assert "BLEU = " in done.stdout
    assert "WARNING: the translation could not be kept: " in done.stderr


def test_without_a_run_it_says_what_to_do(evaluate: Call, home: Path) -> None:
    shutil.rmtree(home / "runs")
    told = f"Error: no trained model below {home}/runs: run mtkit train first, or name one with --model RUN\n"
    done = evaluate()
    assert (done.returncode, done.stderr) == (2, told)


def test_several_systems_are_compared_in_text_and_json(evaluate: Call, home: Path) -> None:
    (home / "second.de").write_text((home / "test.de").read_text().replace("bako", "timu"))
    files = ("--hypothesis", "second.de", "--hypothesis", "test.de", "--reference", "test.de")
    few = ("--set", "evaluation.resamples=100", "--set", "evaluation.trials=100", "--set", "evaluation.seed=3")
    done = evaluate(*files, *few)
    assert done.returncode == 0, done.stderr
    scores_of, bleu, chrf = done.stdout.split("\n\n")
    assert [line for line in scores_of.splitlines() if not line.startswith(" ")] == ["second.de", "test.de"]
    assert bleu.startswith("BLEU of 2 systems | nrefs:1|")
    assert chrf.startswith("chrF2 of 2 systems | nrefs:1|")
    assert "test.de (significant)" in bleu
    assert "paired bootstrap, 100 resamples; approximate randomisation, 100 trials; seed 3" in bleu
    told = json.loads(evaluate(*files, *few, "--format", "json").stdout)
    assert [one["metric"] for one in told["comparisons"]] == ["bleu", "chrf"]
    second = told["comparisons"][0]["standings"][1]
    assert (second["system"], second["rank"]) == ("test.de", 1)
    assert second["difference"]["delta"] == pytest.approx(100.0 - told["systems"][0]["scores"][0]["value"])
    assert second["difference"]["bootstrap_p"] < 0.05


def test_what_was_scored_on_other_text_is_not_compared(evaluate: Call, mtkit: Call, home: Path) -> None:
    assert mtkit(home, "average", "runs/toy").returncode == 0
    config = home / "runs" / "toy-average" / "config.yaml"
    shutil.copytree(home / "data" / "toy", home / "data" / "other")
    (home / "data" / "other" / "test.de").write_text((home / "test.de").read_text().replace("bako", "timu"))
    config.write_text(config.read_text().replace("data/toy", "data/other"))
    models = ("--model", "runs/toy", "--model", "runs/toy-average")
    done = evaluate(*models)
    assert done.returncode == 0, done.stderr
    assert "of 2 systems" not in done.stdout
    assert "WARNING: the systems are not compared: they were scored on other text or with other options" in done.stderr
    done = evaluate(*models, "--report", "page.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith("Error: --report page.html: the systems were scored on other")
    assert not (home / "page.html").exists()


def test_each_line_is_scored(evaluate: Call, home: Path) -> None:
    files = ("--hypothesis", "test.de", "--reference", "test.de", "--sentences")
    done = evaluate(*files)
    head, *rows = done.stdout.split("\n\n")[1].splitlines()
    system, line, bleu, chrf = head.split("\t")
    assert (system, line) == ("system", "line")
    assert bleu.startswith("bleu nrefs:1|case:mixed|eff:yes|")
    assert chrf.startswith("chrf nrefs:1|case:mixed|eff:yes|")
    assert [row.split("\t")[:2] for row in rows] == [["test.de", str(number)] for number in range(1, 41)]
    assert {row.split("\t")[2] for row in rows} == {"100.0000"}
    (told,) = json.loads(evaluate(*files, "--format", "json").stdout)["systems"]
    assert [len(column["values"]) for column in told["sentences"]] == [40, 40]
    assert max(told["sentences"][0]["values"]) <= 100.0
    lines = (home / "test.de").read_text().splitlines()
    expected = sacrebleu.sentence_chrf(lines[0], [lines[1]]).score
    (home / "shifted.de").write_text("".join(f"{line}\n" for line in [*lines[1:], lines[0]]))
    arguments = ("--hypothesis", "test.de", "--reference", "shifted.de", "--sentences", "--format", "json")
    (told,) = json.loads(evaluate(*arguments).stdout)["systems"]
    assert told["sentences"][1]["values"][0] == pytest.approx(expected)


def test_the_report_on_runs_knows_their_training_text(evaluate: Call, home: Path) -> None:
    done = evaluate("--model", "runs/toy", "--report", "page.html", "--set", "evaluation.trials=0")
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "the report is in page.html"
    page = (home / "page.html").read_text("utf-8")
    assert "<h1>test of toy, 40 lines</h1>" in page
    assert "BLEU by the rarest word in figures" in page
    assert '<td class="name">100–999</td><td class="n" data-label="lines">40</td>' in page  # 1,000 lines of 8 words
    shutil.rmtree(home / "data")
    done = evaluate("--hypothesis", "test.de", "--source", "test.en", "--reference", "test.de", "--report", "page.html")
    assert done.returncode == 0, done.stderr
    assert "BLEU by the rarest word in figures" not in (home / "page.html").read_text("utf-8")


@pytest.mark.parametrize(("target", "told"), [("runs", "is a folder"), ("none/page.html", "there is no folder")])
def test_a_report_that_cannot_be_written_is_refused_before_any_work(evaluate: Call, target: str, told: str) -> None:
    done = evaluate("--report", target)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: --report {target}")
    assert told in done.stderr


def test_lines_translated_in_pieces_are_warned_of(evaluate: Call, home: Path) -> None:
    source = (home / "test.en").read_text().splitlines()
    source[6] = " ".join(source[:6])
    (home / "long.en").write_text("".join(f"{line}\n" for line in source))
    pieces = ("--set", "decoding.max_source_tokens=8")
    done = evaluate("--source", "long.en", "--reference", "test.de", *pieces)
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "pieces" in line]
    assert any(
        re.fullmatch(r"WARNING: line 7: \d+ tokens, over decoding\.max_source_tokens 8: translated in \d pieces", line)
        for line in warnings
    )
    (home / "long.en").write_text("".join(f"{' '.join(source[:6])}\n" for _ in source))
    done = evaluate("--source", "long.en", "--reference", "test.de", *pieces)
    told = [line for line in done.stderr.splitlines() if line.startswith("WARNING: ")]
    assert len(told) == 11
    assert re.fullmatch(r"WARNING: \d+ more of this kind: mtkit translate tells them all", told[-1])


def test_a_text_may_come_from_stdin(evaluate: Call, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def piped(*arguments: str) -> Done:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((home / "test.en").read_bytes())))
        return evaluate(*arguments)

    plain = ("--set", "evaluation.metrics=bleu", "--set", "evaluation.resamples=0")
    expected = evaluate("--hypothesis", "test.en", "--reference", "test.de", *plain).stdout
    assert expected.count("test.en") == 1
    done = piped("--hypothesis", "-", "--reference", "test.de", *plain)
    assert (done.returncode, done.stdout) == (0, expected.replace("test.en", "stdin"))
    done = piped("--hypothesis", "test.de", "--reference", "-", *plain)
    assert " | stdin, 40 lines\n" in done.stdout
    models = [part for update in (40, 60) for part in ("--model", f"runs/toy/checkpoints/step-{update:08d}")]
    files = ("--reference", "test.de", *plain, *models)
    assert piped("--source", "-", *files).stdout == evaluate("--source", "test.en", *files).stdout != ""
    done = piped("--hypothesis", "-", "--reference", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "Only one of the files can be stdin" in done.stderr
    monkeypatch.setattr("sys.stdin", None)
    done = evaluate("--hypothesis", "-", "--reference", "test.de")
    assert (done.returncode, done.stderr) == (2, "Error: stdin is closed: name a file instead\n")
