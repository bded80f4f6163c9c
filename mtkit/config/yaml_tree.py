"""YAML text to plain values, with the line of every key.

Comes in: the text of a config file, or of one `--set` value. Goes out: dicts, lists, text, numbers and booleans, the line
of each key, and what is wrong with the text. Knows nothing of options.

Numbers and booleans are those of YAML 1.2, where `1e-3` is a number and `no` and `1:30` are text. Nothing is ever executed:
the text is only composed into nodes, and a node with a tag of its own is a mistake.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

import yaml

Path = tuple[str | int, ...]
"""Where a value stands: keys of mappings and positions in lists, from the outside in."""

_TAG = "tag:yaml.org,2002:"
_SIGNED = list("-+.0123456789")
_RESOLVERS: tuple[tuple[str, str, list[str]], ...] = (
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", _SIGNED),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", _SIGNED),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
)
"""The scalars that are not text: tag, whole pattern, possible first characters. Order matters: an int is also a float."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader with the scalars of YAML 1.2 and without aliases."""

    yaml_implicit_resolvers = {}  # noqa: RUF012 - the name and kind are PyYAML's

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """As PyYAML's, but an alias is an error: a few lines of aliases can stand for gigabytes."""
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases (*) are not allowed here: put text in quotes", problem_mark=mark)
        return super().compose_node(parent, index)


class Dumper(yaml.SafeDumper):
    """Quotes text that YAML 1.1 or 1.2 would read as something else."""

    def represent_str(self, data: str) -> yaml.ScalarNode:
        """Text with a line break in it only survives between double quotes, where it is escaped."""
        breaks = any(character in data for character in "\n\r\x85\u2028\u2029\ufeff")
        return self.represent_scalar(_TAG + "str", data, style='"' if breaks else None)


Dumper.add_representer(str, Dumper.represent_str)


for _name, _pattern, _first in _RESOLVERS:
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)
    Dumper.add_implicit_resolver(_TAG + _name, re.compile(rf"(?:{_pattern})\Z"), _first)


@dataclass(frozen=True)
class Mistake:
    """What is wrong, and in which line (from 1)."""

    line: int
    path: Path
    message: str


@dataclass(frozen=True)
class Tree:
    """What a text holds. `value` is None for an empty text; what is mistaken is left out of it."""

    value: object = None
    lines: dict[Path, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


def read(text: str) -> Tree:
    """The tree of one YAML document. Never raises: whatever is wrong with the text is among the tree's mistakes."""
    try:
        root = _compose(text)
        tree = Tree()
        return tree if root is None else Tree(_value(root, (), tree), tree.lines, tree.mistakes)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = " ".join(f"not valid YAML: {error.problem or error.context}".split())
        if error.problem and error.context and error.context_mark:
            problem += f" ({error.context}, line {error.context_mark.line + 1})"
        return Tree(mistakes=[Mistake(mark.line + 1 if mark else 1, (), problem)])
    except yaml.reader.ReaderError as error:
        character = error.character if isinstance(error.character, int) else ord(error.character)
        line = text.count("\n", 0, error.position) + 1
        return Tree(mistakes=[Mistake(line, (), f"not valid YAML: the character U+{character:04X} is not allowed")])
    except RecursionError:
        return Tree(mistakes=[Mistake(1, (), "not valid YAML: nested too deeply")])


def _compose(text: str) -> yaml.Node | None:
    loader = _Loader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


class _Refused:
    """Stands for a value that is already among the mistakes."""


_REFUSED = _Refused()


def _value(node: yaml.Node, path: Path, tree: Tree) -> object:
    """The plain value of `node`. Fills in the lines and mistakes of `tree` on the way."""
    tree.lines.setdefault(path, node.start_mark.line + 1)
    tag = node.tag.removeprefix(_TAG)
    if isinstance(node, yaml.ScalarNode) and tag in _SCALARS:
        return _SCALARS[tag](node.value)
    if isinstance(node, yaml.SequenceNode) and tag == "seq":
        items = [_value(item, (*path, position), tree) for position, item in enumerate(node.value)]
        return _REFUSED if _REFUSED in items else items
    if isinstance(node, yaml.MappingNode) and tag == "map":
        return _mapping(node, path, tree)
    shown = node.tag.replace(_TAG, "!!", 1)
    tree.mistakes.append(Mistake(node.start_mark.line + 1, path, f"the tag {shown} is not allowed: write the plain value"))
    return _REFUSED


def _mapping(node: yaml.MappingNode, path: Path, tree: Tree) -> dict[str, object]:
    values: dict[str, object] = {}
    for key, item in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode):
            tree.mistakes.append(Mistake(line, path, "a key must be the name of an option"))
            continue
        here = (*path, key.value)
        if here in tree.lines:
            tree.mistakes.append(Mistake(line, here, f"given twice, in line {tree.lines[here]} and in line {line}"))
            continue
        tree.lines[here] = line
        value = _value(item, here, tree)
        if value is not _REFUSED:
            values[key.value] = value
    return values


def _integer(text: str) -> object:
    try:
        return int(text)
    except ValueError:  # thousands of digits, or text behind an explicit !!int
        return text


def _number(text: str) -> object:
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text  # no option means anything at infinity


def _boolean(text: str) -> object:
    return {"true": True, "false": False}.get(text.lower(), text)


def _whole(text: str) -> object:
    """Text in which a character beyond U+FFFF may be spelt as two escapes, as JSON does."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


_SCALARS: dict[str, Callable[[str], object]] = {
    "str": _whole,
    "int": _integer,
    "float": _number,
    "bool": _boolean,
    "null": lambda text: None,
}
