"""The page about translations, read by a strict XML reader: right figures, text as text, nothing from outside."""

import functools
import os
import random
import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from mtkit.config.schema import Evaluation
from mtkit.evaluation.analysis import Texts
from mtkit.evaluation.comparison import System, compare
from mtkit.evaluation.scores import Scorer
from mtkit.inspection.evaluation_page import EXAMPLES, FAULTS_SHOWN, NAMED_RATIOS, look_at, write_evaluation_page
from mtkit.inspection.page import render_page
from mtkit.support.errors import UserError

WORDS = ["der", "die", "das", "Hund", "Katze", "Maus", "läuft", "schläft", "heute", "morgen", "gern", "nicht", "und", "aber"]
HOSTILE = "<script>alert(1)</script> & \"quotes\" 'n' </dd></body> {{ 7 * 7 }} ]]> https://mtkit.example/"

draw = random.Random(1)
REFERENCE = [" ".join(draw.choices(WORDS, k=3 + place % 40)) + "." for place in range(60)]
SOURCE = [line.upper() for line in REFERENCE]


def spoilt(share: float) -> list[str]:
    return [" ".join(draw.choice(WORDS) if draw.random() < share else word for word in line.split()) for line in REFERENCE]


SYSTEMS = [System("runs/one", spoilt(0.2)), System("a <two> & more", spoilt(0.5))]


def scorer(references: list[list[str]] | None = None) -> Scorer:
    config = Evaluation(metrics=("bleu", "chrf"), resamples=50, trials=50)
    return Scorer(references or [REFERENCE], config, test_set="newstest2014 (wmt14/full)")


def page(texts: Texts, frequency: dict[str, int] | None = None) -> Element:
    """The page, read; ElementTree refuses whatever is not well-formed."""
    made = scorer([list(lines) for lines in texts.references])
    comparisons = compare(texts.systems, made) if len(texts.systems) > 1 else ()
    seen = look_at(texts, made, comparisons, "en", "de_AT", frequency)
    return ElementTree.fromstring(render_page("evaluation.html", page=seen))


def text(element: Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def rows(whole: Element, name: str) -> list[list[str]]:
    return [[text(cell) for cell in row] for row in whole.findall(f".//table[@id='{name}']/tbody/tr")]


@functools.cache
def both() -> Element:
    """The page about both systems, with some training text."""
    return page(BOTH, {"der": 5, "die": 50, "das": 0})


BOTH = Texts(SOURCE, [REFERENCE], SYSTEMS)
ONE = Texts(SOURCE, [REFERENCE], SYSTEMS[:1])


def test_nothing_comes_from_outside_and_nothing_runs() -> None:
    whole = both()
    loading = {"script", "link", "img", "image", "use", "iframe", "object", "embed", "base", "form", "a"}
    assert not loading & {element.tag for element in whole.iter()}
    attributes = {name for element in whole.iter() for name in element.attrib}
    assert not {name for name in attributes if name in {"href", "src", "srcset", "style"} or name.startswith("on")}
    (style,) = whole.iter("style")
    assert not re.search(r"url|import|expression|http", style.text or "")
    policy = whole.find(".//meta[@http-equiv='Content-Security-Policy']")
    assert policy is not None
    assert policy.get("content") == "default-src 'none'; style-src 'unsafe-inline'"


def test_names_are_unlike_and_drawings_can_be_listened_to() -> None:
    whole = both()
    names = [element.get("id") for element in whole.iter() if element.get("id")]
    assert len(names) == len(set(names))
    drawings = [svg for svg in whole.iter("svg") if svg.get("role") == "img"]
    assert len(drawings) == 3
    for svg in drawings:
        assert set(svg.get("aria-labelledby", "").split()) <= set(names)
        assert "runs/one: " in text(svg.find("desc"))
        assert " at " in text(svg.find("desc"))


def test_every_system_has_a_colour_and_a_stroke_of_its_own_however_many_there_are() -> None:
    many = [System(f"run {number}", REFERENCE) for number in range(20)]
    made = Scorer([REFERENCE], Evaluation(metrics=("bleu",), resamples=0, trials=0))
    seen = look_at(Texts(SOURCE, [REFERENCE], many), made, compare(many, made), "en", "de", None)
    whole = ElementTree.fromstring(render_page("evaluation.html", page=seen))
    style = text(whole.find(".//style"))
    drawn = {name for svg in whole.iter() for name in svg.get("class", "").split() if name.startswith("series-")}
    assert len(drawn) == 20
    looks = {
        (re.findall(rf"\.{name} {{ (.*?) }}", style)[-1], *re.findall(rf"\.{name} path {{ (.*?) }}", style))
        for name in drawn
    }
    assert len(looks) == 20
    assert not any("significant" in row[0] for row in rows(whole, "comparison-1")), "no verdict where nothing was tested"


def test_the_scores_of_several_systems_are_the_comparisons() -> None:
    whole = both()
    assert text(whole.find(".//h1")) == "newstest2014 (wmt14/full), 60 lines"
    for number, comparison in enumerate(compare(SYSTEMS, scorer()), 1):
        first, second = rows(whole, f"comparison-{number}")
        standing = comparison.standings[1]
        difference = standing.difference
        assert difference is not None
        assert difference.interval is not None
        assert (first[0], first[2]) == ("runs/one (baseline)", f"{comparison.standings[0].score.value:.2f}")
        assert second == [
            "a <two> & more significant",
            str(standing.rank),
            f"{standing.score.value:.2f}",
            f"{standing.score.interval.mean:.2f} ± {standing.score.interval.half_width:.2f}",  # type: ignore[union-attr]
            f"{difference.delta:+.2f}",
            f"{difference.interval.mean:+.2f} ± {difference.interval.half_width:.2f}",
            f"{difference.bootstrap_p:.4f}",
            f"{difference.randomisation_p:.4f}",
        ]
        caption = whole.find(f".//table[@id='comparison-{number}']/caption")
        assert standing.score.signature in text(caption)


def test_the_scores_of_one_system_stand_as_facts() -> None:
    whole = page(ONE)
    facts = whole.find(".//dl[@class='facts']")
    assert facts is not None
    bleu, _ = scorer().score(SYSTEMS[0].lines, intervals=True)
    told = {text(fact.find("dt")): text(fact.find("dd")) for fact in facts}
    assert told["BLEU"].startswith(f"{bleu.value:.2f} {bleu.interval.mean:.2f} ± ")  # type: ignore[union-attr]
    assert told["BLEU"].endswith(bleu.signature)
    assert set(told) == {"BLEU", "chrF2"}
    assert not whole.findall(".//table[@id='comparison-1']")


def test_groups_are_drawn_and_told() -> None:
    whole = both()
    told = rows(whole, "by-length")
    assert [row[0] for row in told] == ["1–5", "6–10", "11–20", "21–30", "31–40", "41–60"]  # none longer
    assert sum(int(row[1]) for row in told) == 60
    svg = next(svg for svg in whole.iter("svg") if svg.get("aria-labelledby") == "length-title length-summary")
    ticks = [one.text for one in svg.iter("text") if one.get("class") == "x"]
    assert ticks == [row[0] for row in told]
    dots = [text(dot.find("title")) for dot in svg.iter("circle")]
    assert len(dots) == 12
    assert any(dot.startswith(f"runs/one, 1–5: {float(told[0][2]):.4g}"[:18]) for dot in dots)
    assert rows(whole, "by-frequency")[0][0] == "0"


def test_without_training_text_it_says_what_is_missing() -> None:
    whole = page(BOTH)
    assert not rows(whole, "by-frequency")
    assert "BLEU by the rarest word needs the source and the training text" in text(whole)


def test_lengths_and_faults_of_each_system() -> None:
    broken = System("broken", ["", *SOURCE[1:14], *REFERENCE[14:]])
    whole = page(Texts(SOURCE, [[line.lower() for line in REFERENCE]], [SYSTEMS[0], broken]))
    assert [row[0] for row in rows(whole, "lengths")] == ["runs/one", "broken"]
    assert len(rows(whole, "lengths")[0]) == 2 + len(NAMED_RATIOS)
    head = [text(cell) for cell in whole.findall(".//table[@id='faults']/thead/tr/th")]
    fault = dict(zip(head, rows(whole, "faults")[1], strict=True))
    assert fault["empty"] == "1"
    assert fault["copies of the source"] == "0"  # the reference is equal but for capitals
    other = page(Texts(SOURCE, [spoilt(1.0)], [broken]))
    fault = dict(zip(head, rows(other, "faults")[0], strict=True))
    assert int(fault["copies of the source"]) > FAULTS_SHOWN
    lists = [[text(item) for item in part] for part in other.findall(".//ul")]
    assert ["line 1: nothing at all"] in lists
    long = next(one for one in lists if len(one) == FAULTS_SHOWN + 1)
    assert long[-1] == f"and {int(fault['copies of the source']) - FAULTS_SHOWN} more"


def test_without_a_source_the_page_says_what_it_cannot_tell() -> None:
    whole = page(Texts(None, [REFERENCE], SYSTEMS))
    head = [text(cell) for cell in whole.findall(".//table[@id='faults']/thead/tr/th")]
    assert head == ["system", "empty", "repeats itself"]
    assert "need the source: give --source or --test-set" in text(whole)
    assert "words of the reference" in text(whole)


def test_sentences_side_by_side() -> None:
    reference = ["Der Hund läuft schnell.", "Gleich."]
    systems = [System("one", ["Der Hund läuft schnell.", "Gleich."]), System("two", ["Der Esel läuft schnell.", "Gleich."])]
    whole = page(Texts([HOSTILE, "Same."], [reference], systems))
    (sentence,) = whole.findall(".//dl[@class='sentence']")  # of equal translations there is nothing to show
    parts = [text(part) for part in sentence]
    assert parts[:4] == ["line 1", HOSTILE, "one", "Der Hund läuft schnell. 100.0"]
    assert parts[-2:] == ["reference", "Der Hund läuft schnell."]
    assert [mark.text for mark in sentence.iter("mark")] == ["Esel"]
    assert [part.get("lang") for part in sentence.findall("dd")] == ["en", "de-AT", "de-AT", "de-AT"]
    assert {part.get("dir") for part in sentence.findall("dd")} == {"auto"}


def test_no_more_sentences_than_one_reads() -> None:
    assert len(both().findall(".//dl[@class='sentence']")) == EXAMPLES


def test_the_same_translations_give_the_same_bytes_and_failures_keep_the_old_page(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    languages = {"source_language": "en", "target_language": "de"}
    for name in ("page.html", "again.html"):
        write_evaluation_page(ONE, scorer(), (), tmp_path / name, **languages, frequency=None, option="--report")
    assert target.read_bytes() == (tmp_path / "again.html").read_bytes()
    nowhere = tmp_path / "none" / "page.html"
    with pytest.raises(UserError, match=r"--report .*none/page\.html: there is no folder"):
        write_evaluation_page(ONE, scorer(), (), nowhere, **languages, frequency=None, option="--report")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_it_without_scrolling_sideways(width: int, tmp_path: Path) -> None:
    """Chromium measures the page itself; the probe stands in a frame around it, as the page lets no script run."""
    target = tmp_path / "page.html"
    made = scorer()
    write_evaluation_page(
        BOTH,
        made,
        compare(SYSTEMS, made),
        target,
        source_language="en",
        target_language="de",
        frequency={"der": 5},
        option="--report",
    )
    probe = tmp_path / "probe.html"
    probe.write_text(
        f'<!DOCTYPE html><title>waiting</title><iframe id="f" src="page.html" width="{width}" height="800"></iframe><script>'
        "document.getElementById('f').onload = event => { const page = event.target.contentDocument;"
        "const root = page.documentElement;"
        "document.title = [root.scrollWidth - root.clientWidth, page.querySelectorAll('svg[role=img]').length,"
        "page.querySelectorAll('dl.sentence').length].join(' '); }</script>"
    )
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    done = subprocess.run(
        [*command, "--virtual-time-budget=5000", "--dump-dom", probe.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    assert title[1] == f"0 3 {EXAMPLES}"
