"""The page about a run, read by a strict XML reader: right figures at right places, text as text, nothing from outside."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
import torch

from mtkit.checkpoint import Run, State, create_run
from mtkit.config.loader import dump_config, override_config
from mtkit.config.schema import Config
from mtkit.config.schema import Vocabulary as VocabularyOptions
from mtkit.data.vocabularies import Vocabularies, learn_vocabularies
from mtkit.inspection import report
from mtkit.model.transformer import Transformer, parameter_count
from mtkit.support.errors import UserError

OPTIONS = (
    "data.folder=data/lawn",
    "model.d_model=8",
    "model.d_ff=8",
    "model.heads=1",
    "model.encoder_layers=2",
    "model.decoder_layers=1",
    "training.updates=400",
)

SIGNATURE = "nrefs:1|case:mixed|version:2.6.0 | validation, 40 lines"

PROVENANCE = {
    "command": ["mtkit", "train", "--config", "<lawn>.yaml"],
    "started": "2026-03-01T20:15:00+0000",
    "mtkit": "0.1.0",
    "commit": "0123456789abcdef0123456789abcdef01234567",
    "python": "3.11.7",
    "packages": {"torch": "2.13.0", "sacrebleu": "2.6.0"},
    "seed": 1,
    "data": {"source_sha256": "ab" * 32, "target_sha256": "cd" * 32, "pairs": 29_000},
}

HOSTILE = "<script>alert(1)</script> & \"quotes\" 'n' </dd></body> {{ 7 * 7 }} {% raw %} ]]> <!-- https://mtkit.example/"

Record = dict[str, object]


def training(update: int, *, loss: float | None = None, speed: float = 500.0) -> Record:
    nll = 800 / update if loss is None else loss
    return {
        "update": update,
        "loss": nll + 1,
        "negative_log_likelihood": nll,
        "learning_rate": update * 1e-6,
        "gradient_norm": 0.5,
        "target_tokens": speed * 30,
        "seconds": 30,
    }


def validation(update: int, bleu: float | None, *translations: str) -> Record:
    sources = ("Moss grows here.", HOSTILE)
    samples = [
        {"source": source, "translation": text, "reference": f"reference of {source}"}
        for source, text in zip(sources, translations, strict=False)
    ]
    scores = {"validation_loss": 600 / update, "validation_bleu": bleu, "signature": "" if bleu is None else SIGNATURE}
    return {"update": update} | scores | {"seconds": 15, "samples": samples}


RECORDS = [
    *(training(update, speed=500 + update) for update in (100, 200)),
    validation(200, 12.5, "Hier Moos.", "<b>"),
    *(training(update, speed=500 + update) for update in (300, 400)),
    validation(400, 25.0, "Hier wächst Moos.", "&lt;"),
]


@pytest.fixture(scope="module")
def vocabularies() -> Vocabularies:
    return learn_vocabularies([{"bako": 9, "timu": 8}], VocabularyOptions(size=400, soft_limit=True))


Make = Callable[..., Run]


@pytest.fixture
def make(tmp_path: Path, vocabularies: Vocabularies) -> Make:
    """make(records, *options, ending="", provenance=...): a run of which metrics.jsonl says so much."""

    def call(records: list[Record], *options: str, ending: str = "", provenance: Record = PROVENANCE) -> Run:
        config = override_config(Config(), [*OPTIONS, *options])
        run = create_run(tmp_path / "runs" / "a <run> & more", config, vocabularies, provenance)
        if records or ending:
            (run.folder / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in records) + ending)
        return run

    return call


def save(run: Run, step: int, loss: float | None = None, bleu: float | None = None) -> Path:
    return run.save(State(step, loss, bleu), {"w": torch.ones(2)}, {"w": torch.ones(2)}).folder


def page(run: Run) -> Element:
    """The page, read; ElementTree refuses whatever is not well-formed."""
    return ElementTree.fromstring(report.render(report.read_run(run)))


def text(element: Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def head(run: Run) -> dict[str, str]:
    """What the facts at the top say, by name."""
    facts = page(run).find(".//dl[@class='facts']")
    assert facts is not None
    return {text(fact.find("dt")): text(fact.find("dd")) for fact in facts}


def rows(whole: Element, name: str) -> list[list[str]]:
    return [[text(cell) for cell in row] for row in whole.findall(f".//table[@id='{name}']/tbody/tr")]


def drawing(whole: Element, name: str) -> Element:
    return next(svg for svg in whole.iter("svg") if svg.get("aria-labelledby") == f"{name}-title {name}-summary")


def scale(svg: Element, axis: str) -> Callable[[float], float]:
    """Where the axis x or y has a figure, as its outermost ticks say."""
    words = [one for one in svg.iter("text") if one.get("class") == axis]
    (low, at_low), (high, at_high) = (
        (float((one.text or "").replace(",", "")), float(one.get(axis, ""))) for one in (words[0], words[-1])
    )
    return lambda figure: at_low + (at_high - at_low) * (figure - low) / (high - low)


def strokes(svg: Element, number: int) -> list[tuple[float, float]]:
    """The places that the curve of this number runs through."""
    path = svg.find(f"g[@class='curve series-{number}']/path")
    assert path is not None
    pairs = re.findall(r"([\d.]+) ([\d.]+)", path.get("d", ""))
    return [(float(x), float(y)) for x, y in pairs]


def test_nothing_comes_from_outside_and_nothing_runs(make: Make) -> None:
    run = make(RECORDS)
    whole = page(run)
    loading = {"script", "link", "img", "image", "use", "iframe", "object", "embed", "base", "form", "a"}
    assert not loading & {element.tag for element in whole.iter()}
    attributes = {name for element in whole.iter() for name in element.attrib}
    assert not {name for name in attributes if name in {"href", "src", "srcset", "style"} or name.startswith("on")}
    (style,) = whole.iter("style")
    assert not re.search(r"url|import|expression|http", style.text or "")
    policy = whole.find(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy is not None
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"
    assert report.render(report.read_run(run)).startswith("<!DOCTYPE html>")


def test_it_can_be_listened_to(make: Make) -> None:
    whole = page(make(RECORDS))
    names = [element.get("id") for element in whole.iter() if element.get("id")]
    assert len(names) == len(set(names))
    drawings = [svg for svg in whole.iter("svg") if svg.get("role") == "img"]
    assert len(drawings) == 5
    for svg in drawings:
        assert set(svg.get("aria-labelledby", "").split()) <= set(names)
    assert text(drawing(whole, "bleu").find("desc")) == (
        "validation BLEU: 12.5 at update 200, 25 at update 400, between 12.5 and 25"
    )


def test_the_head(make: Make, vocabularies: Vocabularies) -> None:
    run = make(RECORDS)
    whole, told = page(run), head(run)
    assert text(whole.find(".//h1")) == "a <run> & more"
    assert text(whole.find("./head/title")) == "a <run> & more: training report"
    assert "Finished: 400 of 400 updates" in text(whole.find(".//header"))
    assert told["Best validation"] == f"25.00 BLEU at update 400 {SIGNATURE}"
    assert told["Time"].startswith("2m30s 2m00s training, 0m30s validation; 90,000 target tokens, 750 tokens/s")
    assert told["Time"].endswith("begun 2026-03-01 20:15")
    weights = parameter_count(Transformer(run.config().model, len(vocabularies.target)))
    assert f"{weights:,}; 2 + 1 layers, d_model 8, d_ff 8, 1 heads" in told["Model"]
    assert told["Data"] == (
        "lawn en → de 29,000 training pairs; SHA-256 of the source abababababab, of the target cdcdcdcdcdcd"
    )
    assert told["Software"] == ("mtkit 0.1.0, commit 0123456789ab Python 3.11.7, torch 2.13.0, sacrebleu 2.6.0; seed 1")
    assert json.loads(whole.findtext(".//details[@id='provenance']/pre", "")) == PROVENANCE


@pytest.mark.parametrize(
    ("name", "number", "figures"),
    [
        ("loss", 1, [(100, 8.0), (200, 4.0), (300, 8 / 3), (400, 2.0)]),
        ("loss", 2, [(200, 3.0), (400, 1.5)]),
        ("loss", 3, [(100, 9.0), (200, 5.0), (300, 11 / 3), (400, 3.0)]),
        ("bleu", 1, [(200, 12.5), (400, 25.0)]),
        ("rate", 1, [(100, 1.0), (200, 2.0), (300, 3.0), (400, 4.0)]),
        ("speed", 1, [(100, 600), (200, 700), (300, 800), (400, 900)]),
        ("norm", 1, [(100, 0.5), (200, 0.5), (300, 0.5), (400, 0.5)]),
    ],
)
def test_curves_run_through_their_figures(make: Make, name: str, number: int, figures: list[tuple[int, float]]) -> None:
    svg = drawing(page(make(RECORDS)), name)
    x, y = scale(svg, "x"), scale(svg, "y")
    for place, (update, figure) in zip(strokes(svg, number), figures, strict=True):
        assert place == pytest.approx((x(update), y(figure)), abs=0.1)


def test_curves_have_their_names_and_units(make: Make) -> None:
    whole = page(make(RECORDS))
    captions = [text(caption) for caption in whole.iter("figcaption")]
    assert captions == [
        "Loss training validation training, label-smoothed",
        "Validation BLEU",
        "Learning rate",
        "Speed",
        "Gradient norm",
    ]
    labels = [text(one) for one in whole.iter("text") if "label" in one.get("class", "")]
    assert labels[::2] == [
        "nats per target token",
        "BLEU",
        "learning rate × 10⁻⁴",
        "target tokens/s",
        "mean of the updates",
    ]
    assert set(labels[1::2]) == {"update"}
    dots = drawing(whole, "bleu").iter("circle")
    assert [text(dot.find("title")) for dot in dots] == [
        "validation BLEU, update 200: 12.5",
        "validation BLEU, update 400: 25",
    ]


def test_without_label_smoothing_there_is_one_training_loss(make: Make) -> None:
    svg = drawing(page(make(RECORDS, "training.label_smoothing=0.0")), "loss")
    assert [group.get("class") for group in svg.iter("g")] == ["curve series-1", "curve series-2"]


def test_the_validation_figures_stand_in_a_table(make: Make) -> None:
    whole = page(make([*RECORDS, training(500), validation(500, None)]))
    assert rows(whole, "validation") == [
        ["200", "3.000", "20.09", "12.50", ""],
        ["400", "1.500", "4.48", "25.00", "best"],
        ["500", "1.200", "3.32", "–", ""],
    ]


def test_many_validations_are_folded_and_have_no_dots(make: Make) -> None:
    many = page(make([validation(update, 20.0) for update in range(10, 510, 10)]))
    few = page(make([validation(update, 20.0) for update in range(10, 210, 10)]))
    folded = [next(one for one in whole.iter("details")).get("open") for whole in (many, few)]
    assert folded == [None, "open"]
    assert len(rows(many, "validation")) == 50
    assert [len(list(drawing(whole, "bleu").iter("circle"))) for whole in (many, few)] == [0, 20]


def test_without_bleu_the_best_is_the_lowest_loss(make: Make) -> None:
    run = make([validation(200, None), validation(400, None)])
    assert head(run)["Best validation"] == "loss 1.500 at update 400"


def test_of_equal_scores_the_newest_is_the_best(make: Make) -> None:
    assert "at update 400" in head(make([validation(200, 7.0), validation(400, 7.0)]))["Best validation"]


def test_samples_show_how_a_sentence_came_along(make: Make) -> None:
    whole = page(make([*RECORDS, validation(500, 26.0, "\x00Moos\ud800\u202e.", HOSTILE)]))
    first, second = whole.findall(".//dl[@class='sentence']")
    assert [text(part) for part in first] == [
        *("source", "Moss grows here."),
        *("update 200", "Hier Moos.", "update 400", "Hier wächst Moos.", "update 500", "\ufffdMoos\ufffd\u202e."),
        *("reference", "reference of Moss grows here."),
    ]
    assert [text(part) for part in second] == [
        *("source", HOSTILE),
        *("update 200", "<b>", "update 400", "&lt;", "update 500", HOSTILE),
        *("reference", f"reference of {HOSTILE}"),
    ]
    assert [part.get("lang") for part in first.findall("dd")] == ["en", "de", "de", "de", "de"]
    assert {part.get("dir") for part in first.findall("dd")} == {"auto"}


def test_only_the_newest_samples_are_shown(make: Make) -> None:
    whole = page(make([validation(update, 1.0, f"at {update}") for update in range(100, 800, 100)] + [validation(800, 1.0)]))
    (sentence,) = whole.findall(".//dl[@class='sentence']")
    assert [text(part) for part in sentence.findall("dt")] == [
        *("source", "update 300", "update 400", "update 500", "update 600", "update 700", "reference")
    ]


def test_checkpoints_and_what_is_wrong_with_them(make: Make) -> None:
    run = make(RECORDS)
    save(run, 200, 3.0, 12.5)
    (save(run, 250) / "model.safetensors").write_bytes(b"x")
    (save(run, 300) / "state.json").write_text("{")
    (save(run, 350) / "optimizer.safetensors").unlink()
    save(run, 400, 1.5, 25.0)
    first, flipped, torn, lost, last = rows(page(run), "checkpoints")
    assert first == ["200", "3.000", "12.50", "sound"]
    assert flipped == ["250", "–", "–", "damaged model.safetensors: damaged (its sha256 is not the one in state.json)"]
    assert torn[3].startswith("damaged state.json: damaged (")
    assert lost[3] == "damaged optimizer.safetensors: missing"
    assert last == ["400", "1.500", "25.00", "sound, best"]


def test_a_checkpoint_that_goes_while_we_look_is_left_out(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make(RECORDS)
    save(run, 200)
    save(run, 400)
    found = run.checkpoints()
    shutil.rmtree(found[0].folder)
    monkeypatch.setattr(Run, "checkpoints", lambda self: found)
    assert [row[0] for row in rows(page(run), "checkpoints")] == ["400"]


def test_the_config_is_what_differs(make: Make) -> None:
    run = make(RECORDS, "data.source_language=nb_NO", "data.train.source=a.txt", "data.train.target=[b.txt]")
    whole = page(run)
    values = {text(row[0].find("code")): row for row in whole.findall(".//table[@id='settings']/tbody/tr")}
    changed = {option.partition("=")[0] for option in OPTIONS}
    assert set(values) == changed | {"data.source_language", "data.train.source", "data.train.target"}
    assert [text(cell) for cell in values["training.updates"][1:]] == ["400", "100000"]
    assert [text(cell) for cell in values["data.train.target"][1:]] == ["b.txt", "none"]
    assert [text(cell) for cell in values["data.folder"][1:]] == ["data/lawn", "''"]
    assert "optimiser updates in all" in text(values["training.updates"][0])
    assert whole.findtext(".//details[@id='config']/pre") == dump_config(run.config())


def test_a_run_that_ended_early(make: Make) -> None:
    ended = {"update": 400, "ended": "no new best in 3 validations"}
    header = text(page(make([*RECORDS, ended], "training.updates=1000")).find(".//header"))
    assert "Finished early: no new best in 3 validations, after 400 of 1,000 updates" in header
    assert "damaged" not in header


def test_a_run_that_went_on_after_its_end(make: Make) -> None:
    ended = {"update": 400, "ended": "no new best in 3 validations"}
    gone_on = make([*RECORDS, ended, RECORDS[0] | {"update": 500}], "training.updates=1000")
    assert "Not finished: 500 of 1,000 updates" in text(page(gone_on).find(".//header"))


def test_a_run_without_a_word_yet(make: Make) -> None:
    run = make([])
    whole, told = page(run), head(run)
    assert "Not finished: 0 of 400 updates (0 %)" in text(whole.find(".//header"))
    assert told["Best validation"] == "none yet"
    assert told["Time"] == "none recorded yet begun 2026-03-01 20:15"
    words = [text(one) for one in whole.findall(".//section/p")]
    assert words == [
        "No figures yet: the first come after 100 updates.",
        "None yet: the first comes after 400 updates.",
        "None yet: the first comes after 400 updates.",
    ]
    assert not list(whole.iter("svg"))


def test_a_run_that_is_still_going(make: Make) -> None:
    run = make(RECORDS[:4], "training.updates=1000", ending='{"update": 400, "lo')
    whole = page(run)
    assert "Not finished: 300 of 1,000 updates (30 %)" in text(whole.find(".//header"))
    bar = whole.find(".//progress")
    assert bar is not None
    assert (bar.get("max"), bar.get("value")) == ("1000", "300")
    assert "damaged" not in text(whole.find(".//header"))
    save(run, 320)
    assert "320 of 1,000" in text(page(run).find(".//header"))


def test_one_point_is_a_dot(make: Make) -> None:
    svg = drawing(page(make(RECORDS[:1])), "loss")
    assert [group.get("class") for group in svg.iter("g")] == ["curve series-1", "curve series-3"]
    assert [float(dot.get("cy", "")) for dot in svg.iter("circle")] == pytest.approx(
        [scale(svg, "y")(8), scale(svg, "y")(9)]
    )
    assert svg.find("g/path") is None


def test_what_was_not_finite_is_a_gap(make: Make) -> None:
    figures = [training(update) for update in range(100, 600, 100)]
    figures[2] |= {"loss": None, "negative_log_likelihood": float("nan")}
    lost: Record = validation(500, None, "a") | {"validation_loss": None}
    whole = page(make([*figures, lost]))
    (path, _) = (group.find("path") for group in drawing(whole, "loss").iter("g"))
    assert path is not None
    assert path.get("d", "").count("M") == 2
    assert rows(whole, "validation") == [["500", "–", "–", "–", ""]]


def test_repeated_updates_show_the_last(make: Make) -> None:
    whole = page(make([*RECORDS, training(300, loss=1.0), validation(400, 30.0)]))
    svg = drawing(whole, "loss")
    assert strokes(svg, 1)[2] == pytest.approx((scale(svg, "x")(300), scale(svg, "y")(1.0)), abs=0.1)
    assert [row[3] for row in rows(whole, "validation")] == ["12.50", "30.00"]


def test_damaged_lines_are_told_of(make: Make) -> None:
    assert "1 damaged line(s) in metrics.jsonl" in text(page(make(RECORDS, ending="}\n")).find(".//header"))


def test_a_mean_of_checkpoints(make: Make) -> None:
    run = make([], provenance={"averaged_from": "runs/<lawn>", "steps": [1000, 2000]})
    save(run, 2000)
    whole = page(run)
    assert "Mean of the checkpoints 1,000, 2,000 of runs/<lawn>" in text(whole.find(".//header"))
    assert [text(title) for title in whole.iter("h2")] == ["Checkpoints kept", "Config"]
    assert set(head(run)) == {"Model", "Data"}


def test_the_same_run_gives_the_same_bytes(make: Make, tmp_path: Path) -> None:
    run = make(RECORDS)
    (save(run, 400) / "model.safetensors").unlink()
    report.write_report(run, tmp_path / "one.html")
    elsewhere = shutil.copytree(run.folder, tmp_path / "elsewhere" / run.folder.name)
    report.write_report(Run(elsewhere), tmp_path / "two.html")
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


def test_a_write_that_fails_leaves_the_old_page(make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "page.html").write_text("old")
    run = make(RECORDS)
    monkeypatch.setattr("os.fsync", full)
    told = (
        r"page\.html: cannot be written \(No space left on device; free .*\): make room or name another file with --output$"
    )
    with pytest.raises(UserError, match=told):
        report.write_report(run, tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == "old"
