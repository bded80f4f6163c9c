"""Reading config files and --set: what is accepted, and that every mistake is told with its line."""

import contextlib
import importlib.resources
import re
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from mtkit.config.loader import config_name, config_names, load_config, shipped_configs
from mtkit.config.schema import Config
from mtkit.support.errors import UserError

METRICS = "bleu, chrf, chrf++, ter, tokenised-bleu, compound-split-bleu"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str | bytes) -> str:
    Path("c.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return "c.yaml"


def mistakes(text: str | bytes, *overrides: str) -> list[str]:
    with pytest.raises(UserError) as caught:
        load_config(written(text), overrides)
    return str(caught.value).split("\n")


# What is accepted


@pytest.mark.parametrize("text", ["", "\n", "# nothing\n", "---\n", "model:\n", "model: {}\n", "training:\n  schedule:\n"])
def test_what_says_nothing_is_all_defaults(text: str) -> None:
    assert load_config(written(text)) == Config()


@pytest.mark.parametrize(
    ("number", "value"),
    [("1e-3", 1e-3), ("1E3", 1e3), (".5", 0.5), ("0.1e1", 1.0), ("2.", 2.0), ("+1.5", 1.5), ("3", 3.0)],
)
def test_numbers_as_in_yaml_1_2(number: str, value: float) -> None:
    assert load_config(written(f"training: {{schedule: {{peak: {number}}}}}")).training.schedule.peak == value


@pytest.mark.parametrize(("number", "value"), [("012", 12), ("1e5", 100_000), ("2.0", 2), ("+7", 7)])
def test_whole_numbers(number: str, value: int) -> None:
    updates = load_config(written(f"training:\n  updates: {number}\n")).training.updates
    assert (updates, type(updates)) == (value, int)


@pytest.mark.parametrize("text", ["no", "on", "1:30", "2014-06-27", "0x1F", "1_000", ".inf", "<<", "='"])
def test_what_only_yaml_1_1_reads_otherwise_is_text(text: str) -> None:
    assert load_config(written(f"data:\n  folder: {text}\n")).data.folder == text


def test_only_true_and_false_are_booleans() -> None:
    assert load_config(written("evaluation: {lowercase: true}")).evaluation.lowercase is True
    assert load_config(written("cleaning: {drop_copies: False}")).cleaning.drop_copies is False
    assert mistakes("evaluation: {lowercase: yes}") == ["c.yaml:1: evaluation.lowercase: must be true or false, found 'yes'"]
    assert mistakes("training: {updates: true}") == [
        "c.yaml:1: training.updates: must be a whole number of at least 1, found true"
    ]


def test_byte_order_mark_and_windows_line_ends() -> None:
    config = load_config(written(b"\xef\xbb\xbftraining:\r\n  updates: 7\r\n  threads: 2\r\n"))
    assert (config.training.updates, config.training.threads) == (7, 2)


def test_one_file_or_a_list_of_files() -> None:
    config = load_config(written("data: {train: {source: a.en, target: [a.de]}}"))
    assert config.data.train.source == ("a.en",)
    assert config.data.train.target == ("a.de",)


def test_what_a_section_leaves_out_keeps_the_default_of_its_place() -> None:
    assert load_config(written("data: {test: {source: a, target: b}}")).data.test.hub_split == "test"


# --set


def test_an_override_replaces_only_its_option() -> None:
    name = written("training:\n  updates: 5\n  schedule: {warmup: 3, kind: cosine}\n")
    training = load_config(name, ["training.schedule.warmup=10"]).training
    assert (training.updates, training.schedule.warmup, training.schedule.kind) == (5, 10, "cosine")


def test_overrides_read_values_as_a_file_does_and_the_last_one_wins() -> None:
    config = load_config(
        written("model:\n"),
        [
            "training.updates=1e3",
            "data.source_language=no",
            "data.train.source=[a, b=c]",
            "data.train.target=[d, e]",
            "data.hub=a=b",
            "model.dropout=0.2",
            "model.dropout=.3",
        ],
    )
    assert config.training.updates == 1000
    assert config.data.source_language == "no"
    assert config.data.train.source == ("a", "b=c")
    assert config.data.hub == "a=b"
    assert config.model.dropout == 0.3


def test_an_override_mends_a_wrong_value_of_the_file() -> None:
    assert load_config(written("training: {updates: many}"), ["training.updates=3"]).training.updates == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("training.udpates=3", "unknown option (did you mean 'updates'?)"),
        ("training.schedul.warmup=3", "unknown option (did you mean 'schedule'?)"),
        ("training.updates=0", "must be a whole number of at least 1, found 0"),
        ("training.updates=1000000000001", "must be at most 1000000000000, found 1000000000001"),
        ("training.updates=", "has no value, must be a whole number of at least 1"),
        ("training.updates", "must look like section.option=value, such as training.updates=1000"),
        ("updates=3", "must look like section.option=value, such as training.updates=1000"),
        ("training..updates=3", "must look like section.option=value, such as training.updates=1000"),
        ("training.schedule=cosine", "is a section: set its options one by one, such as training.schedule.kind=VALUE"),
        ("model.d_model.x=3", "must be a whole number of at least 2 and at most 1000000, found a section"),
        ("model.heads.x=3", "model.heads is not a section"),
        ("evaluation.metrics=blue", f"must be one or more of {METRICS}, found 'blue' (did you mean 'bleu'?)"),
        ("model.heads=7", "d_model 512 is not a multiple of heads 7 (or set d_k and d_v)"),
        ("data.hub=!!python/name:os.system", "the tag !!python/name:os.system is not allowed: write the plain value"),
    ],
)  # fmt: skip
def test_a_wrong_override_is_named_as_it_was_typed(override: str, message: str) -> None:
    assert mistakes("model:\n  heads: 4\n", override) == [f"--set {override}: {message}"]


def test_text_with_a_character_that_no_name_has() -> None:
    message = "must not hold the character NUL or half a character: no file or language has it in its name"
    assert mistakes('data: {folder: "a\\ud83d"}\n') == [f"c.yaml:1: data.folder: {message}"]
    assert mistakes('data: {folder: "a\\0b"}\n') == [f"c.yaml:1: data.folder: {message}"]
    assert mistakes('data: {train: {source: [a, "b\\0"], target: [c, d]}}\n') == [f"c.yaml:1: data.train.source: {message}"]


def test_a_character_may_be_spelt_as_json_spells_it() -> None:
    assert load_config(written(r'data: {folder: "\ud83d\ude42"}')).data.folder == "🙂"


def test_a_name_in_a_list_is_not_empty() -> None:
    message = "must not hold an empty name; [] = none"
    for override in ("data.train.source=''", "vocabulary.symbols=[a, '']"):
        assert message in mistakes("", override)[0]


@pytest.mark.parametrize("pattern", ["*.en", "[x].en", "@home"])
def test_text_that_yaml_does_not_take_for_text_needs_quotes(pattern: str) -> None:
    """A shell takes one pair of quotes away."""
    (told,) = [line for line in mistakes("", f"data.train.source={pattern}") if "not valid YAML" in line]
    assert told.endswith(f"""text needs quotes here: --set data.train.source="'{pattern}'\"""")
    quoted = load_config(written("data: {train: {target: a}}"), [f"data.train.source='{pattern}'"])
    assert quoted.data.train.source == (pattern,)


def test_auto_is_a_word_for_micro_batches() -> None:
    assert load_config(written("training: {micro_batch_tokens: auto}")).training.micro_batch_tokens == 0
    assert mistakes("training: {micro_batch_tokens: most}\n") == [
        "c.yaml:1: training.micro_batch_tokens: must be a whole number of at least 0, found 'most'"
    ]


def test_a_contradiction_in_the_file_is_not_blamed_on_an_override_beside_it() -> None:
    (told,) = mistakes("training:\n  update_tokens: 9\n", "training.seed=3")
    assert told == "c.yaml:1: training: micro_batch_tokens 3125 is more than update_tokens 9"


# Mistakes


def test_all_mistakes_at_once_each_on_a_line_of_its_own() -> None:
    text = """\
training:
  updtaes: 3
  label_smothing: 0.1
decoding:
  batch_tokens: "many"
model:
  heads: 7
"""
    assert mistakes(text, "evaluation.lowercase=maybe") == [
        "c.yaml: 5 mistakes",
        "c.yaml:2: training.updtaes: unknown option (did you mean 'updates'?)",
        "c.yaml:3: training.label_smothing: unknown option (did you mean 'label_smoothing'?)",
        "c.yaml:5: decoding.batch_tokens: must be a whole number of at least 1, found 'many'",
        "c.yaml:6: model: d_model 512 is not a multiple of heads 7 (or set d_k and d_v)",
        "--set evaluation.lowercase=maybe: must be true or false, found 'maybe'",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("trainin: {}", "trainin: unknown option (did you mean 'training'?)"),
        ("warmup: 3", "warmup: unknown option ('warmup' belongs under training.schedule)"),
        ("interval: 3", "interval: unknown option ('interval' belongs under training.validation or training.checkpoints)"),
        ("vocabulary: {12: x}", "vocabulary.12: unknown option; known here: shared, reuse, kind, size, "),
        ("model: {norm_placement: bost}", "model.norm_placement: must be one of post, pre, sandwich, found 'bost' (did you"),
        ("decoding: {precision: float23}", "decoding.precision: must be one of float32, bfloat16, int8, found 'float23' ("),
        ("training: {updates: 2.5}", "training.updates: must be a whole number of at least 1, found 2.5"),
        ("training: {updates: [1, 2]}", "training.updates: must be a whole number of at least 1, found [1, 2]"),
        ("training: {updates: !!int many}", "training.updates: must be a whole number of at least 1, found 'many'"),
        ("training:\n  updates:", "training.updates: has no value, must be a whole number of at least 1"),
        ("model: {dropout: 1.0}", "model.dropout: must be a number of at least 0 and below 1, found 1.0"),
        ("training: {schedule: {peak: 1e999}}", "training.schedule.peak: must be a number above 0, found '1e999'"),
        ("data: {source_language: d}", "data.source_language: must be a language code such as de or pt_BR, found 'd'"),
        ("data: {hub_revision: 2014}", "data.hub_revision: must be text, found 2014 (put it in quotes)"),
        ("data: {train: {tsv: [a, 3]}}", "data.train.tsv: must be text or a list of texts, found 3 (put it in quotes)"),
        ("evaluation: {metrics: []}", f"evaluation.metrics: must be one or more of {METRICS}, found []"),
        ("model: 3", "model: must be a section with options such as d_model, d_ff, found 3"),
        ("model: [a]", "model: must be a section with options such as d_model, d_ff, found ['a']"),
        ("model: {heads: {a: 1}}", "model.heads: must be a whole number of at least 1 and at most 10000, found a section"),
        ("data: {target_language: en}", "data: source_language and target_language are both 'en'"),
        ("data: {test: {source: [a, b], target: c}}", "data.test: source names 2 file(s) and target names 1: give as many"),
        ("? [a]\n: 3", "a key must be the name of an option"),
        ("{a: {b: &x [1], c: *x}}", "not valid YAML: aliases (*) are not allowed here: put text in quotes"),
        ("[a]", "must hold sections such as 'training:', found ['a']"),
        ("training", "must hold sections such as 'training:', found 'training'"),
        ('"a\\nb": 3', "a\\nb: unknown option"),
    ],
)  # fmt: skip
def test_a_mistake_in_plain_words(text: str, message: str) -> None:
    (told,) = mistakes("# the mistake is below\n" + text)
    assert re.sub(r"^c\.yaml:[23]: ", "", told).startswith(message)


def test_long_values_are_cut() -> None:
    (told,) = mistakes(f"training: {{updates: {'many ' * 1000}}}")
    assert len(told) < 150


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("training:\n  updates: 3\n seed: 4\n", 3),
        ("training:\n  precision: 'float\n", 2),
        ("training:\n\tupdates: 3\n", 2),
        ("a: 1\nb: [1, 2\n", 2),
        ("a: 1\nb: \x00\n", 2),
        ("model:\n---\nmodel:\n", 2),
        ("model: " + "[" * 20_000, 1),
    ],
)
def test_broken_yaml_is_told_in_one_line(text: str, line: int) -> None:
    (told,) = mistakes(text)
    assert told.startswith(f"c.yaml:{line}: not valid YAML: ")


def test_a_key_given_twice_is_told_with_both_lines() -> None:
    assert mistakes("training:\n  seed: 1\n\n  seed: 2\nmodel:\ntraining:\n  updates: 3\n") == [
        "c.yaml: 2 mistakes",
        "c.yaml:4: training.seed: given twice, in line 2 and in line 4",
        "c.yaml:6: training: given twice, in line 1 and in line 6",
    ]


@pytest.mark.parametrize(
    "tagged",
    [
        "!!python/object/apply:os.system ['touch pwned']",
        "!!python/object/new:os.system ['touch pwned']",
        "!!python/name:os.system",
        "!custom 3",
        "!!binary aGFsbG8=",
        "!!map 3",
    ],
)
def test_tagged_yaml_is_refused_and_executes_nothing(tagged: str) -> None:
    tag = tagged.split()[0]
    assert mistakes(f"model:\n  heads: 4\n  d_ff: {tagged}\n  hads: 3\n") == [
        "c.yaml: 2 mistakes",
        f"c.yaml:3: model.d_ff: the tag {tag} is not allowed: write the plain value",
        "c.yaml:4: model.hads: unknown option (did you mean 'heads'?)",
    ]
    assert mistakes(tagged) == [f"c.yaml:1: the tag {tag} is not allowed: write the plain value"]
    assert [path.name for path in Path().iterdir()] == ["c.yaml"]


def test_invalid_utf8_is_told_with_its_line() -> None:
    (told,) = mistakes(b"model:\n  heads: 4 # f\xfcr\n")
    assert told.startswith("c.yaml:2: invalid UTF-8 (byte 0xFC")


# Which file


@pytest.mark.parametrize("name", ["base.yaml", "base"])
def test_a_shipped_config_is_found_from_any_folder(name: str) -> None:
    assert load_config(name).data.hub == "wmt/wmt14"


def test_a_file_wins_over_a_shipped_config_and_a_folder_does_not() -> None:
    Path("base").mkdir()
    assert load_config("base").data.hub == "wmt/wmt14"
    Path("base.yaml").write_text("data: {hub: mine}")
    assert load_config("base.yaml").data.hub == "mine"


def test_mistakes_name_the_shipped_file() -> None:
    with pytest.raises(UserError, match=r"^--set model\.heads=5: d_model 512 is not"):
        load_config("base", ["model.heads=5"])


def test_an_installed_package_finds_its_configs_in_folders_too(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = Path("site-packages/mtkit/configs")
    (installed / "ablations").mkdir(parents=True)
    (installed / "ablations" / "heads_1.yaml").write_text("model: {heads: 1}")
    (installed / "notes.txt").write_text("not a config")
    monkeypatch.setattr(importlib.resources, "files", lambda package: installed)
    assert list(shipped_configs()) == ["ablations/heads_1.yaml"]
    assert load_config("ablations/heads_1").model.heads == 1


@pytest.mark.parametrize("name", ["ablations", "ablations/"])
def test_a_folder_stands_for_the_configs_in_it(name: str) -> None:
    assert config_names(name)[-1] == "ablations/learned_positions.yaml"
    heads = [known for known in config_names(name) if "heads" in known]
    assert heads == [f"ablations/heads_{count}.yaml" for count in (1, 4, 16, 32)]


def test_a_folder_of_ones_own_wins_over_a_shipped_one_if_it_holds_configs() -> None:
    Path("ablations").mkdir()
    assert "ablations/heads_1.yaml" in config_names("ablations")
    for name in ("b.yml", "a.yaml", "notes.txt", "deeper"):
        Path("ablations", name).mkdir() if name == "deeper" else Path("ablations", name).touch()
    assert config_names("ablations") == ["ablations/a.yaml", "ablations/b.yml"]


def test_a_config_stands_for_itself() -> None:
    Path("base").mkdir()
    Path("mine.yaml").touch()
    for name in ("base", "base.yaml", "ablations/heads_1", "mine.yaml", "is not there"):
        assert config_names(name) == [name]


def test_a_folder_without_configs_is_told(tmp_path: Path) -> None:
    Path("empty").mkdir()
    with pytest.raises(UserError, match=rf"^{tmp_path}/empty: a folder without configs"):
        config_names("empty")


def test_a_missing_file_is_told_with_its_full_path_and_what_ships(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_config("baes.yaml")
    told = str(caught.value)
    assert told.startswith(f"{tmp_path}/baes.yaml: no such file")
    assert "did you mean 'base.yaml'?" in told
    assert "big.yaml" in told


def test_a_shipped_name_cannot_climb_out_of_the_folder() -> None:
    with pytest.raises(UserError, match="no such file"):
        load_config("../configs/base.yaml")


def test_a_folder_is_not_a_config() -> None:
    Path("d").mkdir()
    with pytest.raises(UserError, match="/d: is a folder"):
        load_config("d")


@pytest.mark.parametrize(
    ("name", "stem"), [("base.yaml", "base"), ("base", "base"), ("a/x.y.yml", "x.y"), ("/tmp/v1.5", "v1.5")]
)
def test_config_name(name: str, stem: str) -> None:
    assert config_name(name) == stem


@hypothesis.settings(max_examples=100, deadline=None)
@hypothesis.given(st.text(alphabet="ab:{}[]&*!|>%@'\"#-? \n\t,~<.1e\\", max_size=40))
def test_no_text_at_all_breaks_the_loader(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.getbasetemp() / "noise.yaml"
    file.write_bytes(text.encode())
    with contextlib.suppress(UserError):
        load_config(str(file), [f"data.hub={text}"])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "d_model: 24\n  heads: 8\n  positions: rotary",
            "d_k is 3, which is odd: rotary positions turn pairs of its numbers",
        ),
        ("positions: rotary\n  d_k: 5", "d_k is 5, which is odd: rotary positions turn pairs of its numbers"),
        ("heads: 6\n  d_k: 64", "d_model 512 is not a multiple of heads 6 (or set d_k and d_v)"),
        ("key_value_heads: 3", "heads 8 is not a multiple of key_value_heads 3"),
        ("d_model: 27\n  heads: 3", "d_model 27 is odd: sinusoidal positions need pairs of sine and cosine"),
        ("d_model: 27\n  heads: 3\n  positions: sinusoidal_concatenated", "d_model 27 is odd: sinusoidal positions need"),
        ("heads: 1\n  positions: alibi", "heads 1 is too few for positions: alibi"),
        ("feedforward: experts\n  experts: 2\n  experts_per_token: 3", "experts_per_token 3 is more than experts 2"),
        ("heads: 7\n  key_value_heads: 2", "heads 7 (or set d_k and d_v); heads 7 is not a multiple of key_value_heads 2"),
    ],
)
def test_sizes_that_do_not_fit_are_told_with_the_reason(model: str, message: str) -> None:
    (told,) = mistakes(f"model:\n  {model}\n")
    assert message in told
    assert told.startswith("c.yaml:1: model: ")


@pytest.mark.parametrize("heads", [3, 5, 6])
def test_any_number_of_heads_goes_with_widths_of_its_own(heads: int) -> None:
    model = load_config(written(f"model: {{heads: {heads}, d_k: 64, d_v: 64}}")).model
    assert (model.key_width, model.value_width, model.groups) == (64, 64, heads)


def test_no_expert_at_all_is_refused() -> None:
    assert mistakes("model: {feedforward: experts, experts: 0}") == [
        "c.yaml:1: model.experts: must be a whole number of at least 1 and at most 10000, found 0"
    ]


def test_learned_positions_shorter_than_the_longest_sentence_are_refused_where_they_stand() -> None:
    told = "model.learned_positions 256 is too few for sentences of cleaning.max_tokens 256 and their control token"
    text = "training:\n  seed: 3\nmodel:\n  positions: learned\n  learned_positions: 256\n"
    assert mistakes(text) == [f"c.yaml:5: {told}"]
    assert mistakes("model: {positions: learned}", "model.learned_positions=256") == [
        f"--set model.learned_positions=256: {told}"
    ]
    for fine in ("positions: learned, learned_positions: 257", "learned_positions: 256"):  # or not used at all
        load_config(written(f"model: {{{fine}}}"))


ONE_MATRIX = (
    "model.tied_embeddings all is one matrix for both languages, vocabulary.shared false numbers them apart: "
    "set model.tied_embeddings=decoder (or none), or vocabulary.shared=true"
)


def test_one_matrix_for_two_vocabularies_is_refused_where_it_was_asked_for() -> None:
    assert mistakes("training:\n  seed: 3\nvocabulary:\n  size: 400\n  shared: false\n") == [f"c.yaml:5: {ONE_MATRIX}"]
    assert mistakes("vocabulary: {shared: false}\nmodel:\n  tied_embeddings: all\n") == [f"c.yaml:3: {ONE_MATRIX}"]
    assert mistakes("", "vocabulary.shared=false") == [f"--set vocabulary.shared=false: {ONE_MATRIX}"]
    for fine in ("decoder", "none"):
        assert not load_config(written("vocabulary: {shared: false}"), [f"model.tied_embeddings={fine}"]).vocabulary.shared


def test_contradictions_between_sections_are_told_together() -> None:
    (told,) = mistakes("model: {positions: learned, learned_positions: 2}\nvocabulary: {shared: false}\n")
    assert told.startswith("c.yaml:2: model.learned_positions 2 is too few for sentences of cleaning.max_tokens 256 ")
    assert told.endswith(f"; {ONE_MATRIX}")
