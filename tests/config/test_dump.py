"""A config as text reads back as the same config, whatever its values are."""

import re
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import ValidationError

from mtkit.config.catalogue import Entry, catalogue
from mtkit.config.loader import dump_config, load_config
from mtkit.config.schema import Config


def values_of(entry: Entry) -> st.SearchStrategy[Any]:
    """Values that the schema may accept for an option, far beyond those that anyone would write."""
    text = st.text(max_size=8) | st.sampled_from(["no", "1e3", "012", "1:30", "~", "null", "", " a", "- a", "a: b", "#"])
    match entry.default:
        case bool():
            return st.booleans()
        case int():
            return st.integers(1, 2000)
        case float():
            return st.floats(0.0, 1.0)
        case str():
            return st.sampled_from(entry.choices) if entry.choices else text
        case _ if entry.allowed.startswith("a list of sections"):
            corpus = {"tsv": st.lists(text, min_size=1, max_size=2), "weight": st.floats(0.1, 9.0), "tag": text}
            return st.lists(st.fixed_dictionaries(corpus), max_size=2)
        case _:
            return st.lists(st.sampled_from(entry.choices) if entry.choices else text, max_size=3)


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """Configs with a few options changed, whichever the schema accepts together."""
    options = [entry for entry in catalogue().values() if not (entry.is_section or entry.in_list)]
    values: dict[str, Any] = Config().model_dump()
    for entry in draw(st.lists(st.sampled_from(options), max_size=4)):
        section = values
        for name in entry.path[:-1]:
            section = section[name]
        section[entry.path[-1]] = draw(values_of(entry))
    try:
        return Config.model_validate(values)
    except ValidationError:
        hypothesis.reject()


@hypothesis.settings(max_examples=100, suppress_health_check=list(hypothesis.HealthCheck))
@hypothesis.given(configs())
def test_a_dumped_config_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, config: Config) -> None:
    file = tmp_path_factory.getbasetemp() / "dumped.yaml"
    file.write_bytes(dump_config(config).encode())
    assert load_config(str(file)) == config


def test_a_dump_holds_every_option() -> None:
    assert len(re.findall(r"(?m)^ *\w+:", dump_config(Config()))) == sum(not entry.in_list for entry in catalogue().values())
