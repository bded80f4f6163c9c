"""The reference file: every option in schema order with its default, its meaning and what may be written for it.

Comes in: the catalogue of the schema. Goes out: the text of configs/reference.yaml, a config file that changes nothing.
Write it anew after a change of the schema: `python -m mtkit.config.reference > configs/reference.yaml`.
"""

import textwrap

import yaml

from mtkit.config.catalogue import Entry, catalogue
from mtkit.config.schema import Config
from mtkit.config.yaml_tree import Dumper

_WIDTH = 118

_HEADER = """\
# Every option of mtkit with its default, which is that of the paper's base model (Vaswani et al. 2017).
# A config file names only what it changes: start from base.yaml or demo.yaml and look here for what else there is.
# On the command line an option is spelt with its sections: --set training.schedule.warmup=8000
# Made by `python -m mtkit.config.reference`; a change here is lost, the options live in mtkit/config/sections.
"""


def reference() -> str:
    """The text of configs/reference.yaml. `load_config` reads it as `Config()`."""
    return _HEADER + "".join(_paragraph(entry) for entry in catalogue().values() if not entry.in_list)


def _paragraph(entry: Entry) -> str:
    """One section's heading, or one option with its meaning and what is allowed as a comment above it."""
    *sections, name = entry.path
    indent = "  " * len(sections)
    if entry.is_section:
        return f"\n{_comment(entry.meaning, indent)}{indent}{name}:\n"
    value = Config().model_dump(mode="json")
    for step in entry.path:
        value = value[step]
    written = yaml.dump(value, Dumper=Dumper, default_flow_style=True, allow_unicode=True, width=2**31)
    written = written.removesuffix("\n").removesuffix("\n...")  # PyYAML ends a lone scalar with a document mark
    return f"{_comment(f'{entry.meaning} [{entry.allowed}]', indent)}{indent}{name}: {written}\n"


def _comment(text: str, indent: str) -> str:
    start = f"{indent}# "
    return textwrap.fill(text, _WIDTH, initial_indent=start, subsequent_indent=start, break_on_hyphens=False) + "\n"


if __name__ == "__main__":
    print(reference(), end="")
