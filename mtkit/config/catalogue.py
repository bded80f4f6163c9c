"""The schema as a catalogue: each section and option with its default, its meaning and what may be written for it.

Comes in: the pydantic classes of `schema`. Goes out: plain words, for error messages and for the reference file, so that
both say the same. Knows nothing of files.
"""

import dataclasses
import functools
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import annotated_types
from pydantic.fields import FieldInfo

from mtkit.config.schema import Config, Section


@dataclass(frozen=True)
class Entry:
    """A section or an option. `allowed` finishes the sentence "must be ..."; `choices` are the words of a closed list."""

    path: tuple[str, ...]
    default: object
    meaning: str
    allowed: str
    choices: tuple[str, ...] = ()
    in_list: bool = False  # an option of each section in a list of sections: it has no default of its own in a config

    @property
    def is_section(self) -> bool:
        """Whether it holds options instead of a value."""
        return isinstance(self.default, Section)


@functools.cache
def catalogue() -> Mapping[tuple[str, ...], Entry]:
    """All sections and options by path, in the order of the schema; a section comes before what it holds."""
    return types.MappingProxyType({entry.path: entry for entry in _entries(Config(), ())})


def names_in(path: tuple[str, ...]) -> list[str]:
    """Names of what the section at `path` holds; () is the whole config."""
    return [entry[-1] for entry in catalogue() if entry[:-1] == path]


def differences(old: Section, new: Section, path: str = "") -> list[tuple[str, object, object]]:
    """The options that differ, in the order of the schema: `section.option`, its value in `old`, its value in `new`."""
    found: list[tuple[str, object, object]] = []
    for name in type(old).model_fields:
        before, after = getattr(old, name), getattr(new, name)
        if isinstance(before, Section):
            found += differences(before, after, f"{path}{name}.")
        elif before != after:
            found.append((path + name, before, after))
    return found


def _entries(section: Section, path: tuple[str, ...]) -> Iterator[Entry]:
    for name, field in type(section).model_fields.items():
        default = getattr(section, name)
        here = (*path, name)
        if isinstance(default, Section):
            few = ", ".join(list(type(default).model_fields)[:2])
            yield Entry(here, default, _section_meaning(default, field, here), f"a section with options such as {few}")
            yield from _entries(default, here)
        elif (kind := _item(field.annotation)) is not None:
            options = ", ".join(kind.model_fields)
            yield Entry(here, default, field.description or "", f"a list of sections, each with options of {options}")
            for entry in _entries(kind(), here):
                yield dataclasses.replace(entry, in_list=True)
        else:
            yield Entry(here, default, field.description or "", _allowed(field), _choices(field.annotation))


def _item(annotation: object) -> type[Section] | None:
    """What a list of sections is a list of; None of everything else."""
    kind = typing.get_args(annotation)[0] if typing.get_origin(annotation) is tuple else None
    return kind if isinstance(kind, type) and issubclass(kind, Section) else None


def _section_meaning(section: Section, field: FieldInfo, path: tuple[str, ...]) -> str:
    """The docstring of its class; inside another section also its own description, as classes are shared there."""
    meaning = " ".join((type(section).__doc__ or "").split())
    description = field.description or ""
    return meaning if len(path) == 1 else f"{description[:1].upper()}{description[1:]}. {meaning}"


def _choices(annotation: object) -> tuple[str, ...]:
    """The words of a Literal, or of a tuple of them."""
    if typing.get_origin(annotation) is tuple:
        return _choices(typing.get_args(annotation)[0])
    return typing.get_args(annotation) if typing.get_origin(annotation) is typing.Literal else ()


def _allowed(field: FieldInfo) -> str:
    choices = _choices(field.annotation)
    if typing.get_origin(field.annotation) is tuple:
        return f"one or more of {', '.join(choices)}" if choices else "text or a list of texts"
    if choices:
        return f"one of {', '.join(choices)}" if len(choices) > 1 else choices[0]
    kinds: dict[object, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return " ".join([kinds[field.annotation], *_bounds(field)])


def _bounds(field: FieldInfo) -> Iterator[str]:
    words = []
    for limit in field.metadata:
        match limit:
            case annotated_types.Ge(ge=bound):
                words.append(f"of at least {_plain(bound)}")
            case annotated_types.Gt(gt=bound):
                words.append(f"above {_plain(bound)}")
            case annotated_types.Le(le=bound):
                words.append(f"at most {_plain(bound)}")
            case annotated_types.Lt(lt=bound):
                words.append(f"below {_plain(bound)}")
            case annotated_types.MinLen(min_length=length):
                words.append(f"of at least {length} characters")
    if words:
        yield " and ".join(words)


def _plain(bound: object) -> str:
    return str(bound).removesuffix(".0")
