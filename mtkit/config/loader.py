"""Config files and `--set` values to a `Config`, and back to text.

Comes in: the path of a YAML file, or the name of a config that ships with mtkit, and `section.option=value` texts. Goes
out: a checked, frozen `Config`, or one UserError with every mistake, each with its line. Knows nothing of what options do.
"""

import difflib
import importlib.resources
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path

import yaml
from pydantic import ValidationError

from mtkit.config import yaml_tree
from mtkit.config.catalogue import catalogue, names_in
from mtkit.config.schema import Config, Section
from mtkit.support.errors import UserError
from mtkit.support.lines import read_lines


@dataclass(frozen=True, order=True)
class _Origin:
    """Who gave a value: `where` is `base.yaml:12` or `--set training.updates=3`. Mistakes are told in order."""

    is_override: bool
    order: int
    where: str


@dataclass(frozen=True)
class _Mistake:
    origin: _Origin
    path: yaml_tree.Path
    message: str

    def __str__(self) -> str:
        named = bool(self.path) and not self.origin.is_override
        return (
            f"{self.origin.where}: {_dotted(self.path)}: {self.message}" if named else f"{self.origin.where}: {self.message}"
        )


_Origins = dict[yaml_tree.Path, _Origin]
_Values = dict[str, object]


def load_config(name: str, overrides: Sequence[str] = ()) -> Config:
    """The config of file `name`, each of `overrides` (`section.option=value`) replacing one option of it.

    `name` is a path, or the name of a shipped config (`base.yaml` or `base`), which works from any folder. Raises one
    UserError that lists every mistake of the file and of the overrides.
    """
    return _parsed(*_text(name), overrides)


def override_config(config: Config, overrides: Sequence[str]) -> Config:
    """`config` with each of `overrides` replacing one option of it; UserError as for `load_config`."""
    return _parsed("config of the run", dump_config(config), overrides) if overrides else config


def _parsed(label: str, text: str, overrides: Sequence[str]) -> Config:
    tree = yaml_tree.read(text)
    origins = {path: _line(label, line) for path, line in tree.lines.items()}
    mistakes = [_Mistake(_line(label, found.line), found.path, found.message) for found in tree.mistakes]
    values: _Values = {}
    if isinstance(tree.value, dict):
        values = tree.value
    elif tree.value is not None and not tree.mistakes:
        mistakes.append(_Mistake(origins[()], (), f"must hold sections such as 'training:', found {_shown(tree.value)}"))
    for order, override in enumerate(overrides):
        mistakes += _override(values, origins, override, _Origin(True, order, f"--set {override}"))
    origins.setdefault((), _line(label, 1))
    try:
        config = Config.model_validate(_completed(Config(), values))
    except ValidationError as error:
        mistakes += _explained(error, origins)
    if mistakes:
        lines = [str(mistake) for mistake in sorted(mistakes, key=lambda mistake: mistake.origin)]
        raise UserError("\n".join([f"{label}: {len(lines)} mistakes", *lines] if len(lines) > 1 else lines))
    return config


def dump_config(config: Config) -> str:
    """Every option of `config` as YAML, in the order of the schema. `load_config` reads it back equal."""
    return yaml.dump(
        config.model_dump(mode="json"), Dumper=yaml_tree.Dumper, sort_keys=False, allow_unicode=True, width=2**31
    )


def config_name(name: str) -> str:
    """What the default folders data/NAME and runs/NAME of config `name` are called: its file name without .yaml."""
    path = Path(name)
    return path.stem if path.suffix in (".yaml", ".yml") else path.name


def shipped_configs() -> Mapping[str, Traversable]:
    """The configs that ship with mtkit, by name (`base.yaml`, `ablations/heads_1.yaml`)."""
    try:
        root = importlib.resources.files("mtkit.configs")
    except ModuleNotFoundError:  # a source checkout that is not installed
        root = Path(__file__).parents[2] / "configs"
    return dict(sorted(_yaml_files(root, "")))


def _yaml_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Traversable]]:
    for item in folder.iterdir() if folder.is_dir() else ():
        if item.is_dir():
            yield from _yaml_files(item, f"{prefix}{item.name}/")
        elif item.name.endswith(".yaml"):
            yield prefix + item.name, item


def config_names(name: str) -> list[str]:
    """The configs that `name` stands for: itself, or all that lie in the folder of that name, sorted (2 before 10).

    A folder is a path or one of those that ship with mtkit, such as `ablations`. A config of that name wins over a folder.
    UserError for a folder without configs.
    """
    path, shipped = Path(name), shipped_configs()
    is_folder, _ = _found(path)
    if name in shipped or f"{name}.yaml" in shipped:
        return [name]
    inside = [known for known in shipped if known.rpartition("/")[0] == name.rstrip("/")]
    if is_folder:
        try:
            own = [str(item) for item in path.iterdir() if item.suffix in (".yaml", ".yml") and item.is_file()]
        except OSError as error:
            raise UserError(f"{name}: cannot be read: {error.strerror}") from None
        if not own and not inside:
            raise UserError(f"{path.absolute()}: a folder without configs (*.yaml): name a config file, or another folder")
        inside = own or inside
    return sorted(inside, key=_by_number) or [name]


def _by_number(name: str) -> list[tuple[int, str]]:
    """Sorts heads_4 before heads_16."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _found(path: Path) -> tuple[bool, bool]:
    """Whether `path` is a folder, and whether it is there at all."""
    try:
        return path.is_dir(), path.exists()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _text(name: str) -> tuple[str, str]:
    """What to call config `name` in messages, and its text. A file of that path wins over a shipped config of that name."""
    path = Path(name)
    is_folder, exists = _found(path)
    if exists and not is_folder:
        return name, "\n".join(read_lines(path))
    shipped = shipped_configs()
    for known in (name, f"{name}.yaml"):
        if known in shipped:
            return known, shipped[known].read_text("utf-8")
    if is_folder:
        raise UserError(f"{path.absolute()}: is a folder: name a config file")
    raise UserError(
        f"{path.absolute()}: no such file, and no config of that name ships with mtkit{_suggestion(name, list(shipped))}; "
        f"shipped: {', '.join(dict.fromkeys(known.split('/')[0] for known in shipped))}"
    )


def _line(label: str, number: int) -> _Origin:
    return _Origin(False, number, f"{label}:{number}")


def _override(values: _Values, origins: _Origins, override: str, origin: _Origin) -> list[_Mistake]:
    """Puts one `section.option=value` into `values` and its origin into `origins`. Returns what is wrong with it."""
    key, equals, text = override.partition("=")
    names = tuple(key.strip().split("."))
    if not equals or len(names) < 2 or not all(names):
        return [_Mistake(origin, (), "must look like section.option=value, such as training.updates=1000")]
    if names in catalogue() and catalogue()[names].is_section:
        first = names_in(names)[0]
        return [_Mistake(origin, (), f"is a section: set its options one by one, such as {key}.{first}=VALUE")]
    tree = yaml_tree.read(text)
    if tree.mistakes:
        cure = f"; text needs quotes here: --set {key}=\"'{text}'\"" if text[:1] in ("*", "[", "@", "%") else ""
        return [_Mistake(origin, (), f"{mistake.message}{cure}") for mistake in tree.mistakes]
    for depth, name in enumerate(names[:-1], 1):
        inner = {} if values.get(name) is None else values[name]
        if not isinstance(inner, dict):
            return [_Mistake(origin, (), f"{_dotted(names[:depth])} is not a section")]
        values[name] = inner
        values = inner
        origins.setdefault(names[:depth], origin)
    values[names[-1]] = tree.value
    for path in [path for path in origins if path[: len(names)] == names]:
        del origins[path]
    origins[names] = origin
    return []


def _completed(defaults: Section, values: _Values) -> _Values:
    """`values` over `defaults`. An empty section is its default; a float such as 1e5 is a whole number where one is due."""
    completed: _Values = {name: getattr(defaults, name) for name in type(defaults).model_fields}
    for name, value in values.items():
        field = type(defaults).model_fields.get(name)
        default = completed.get(name)
        if isinstance(default, Section) and value is None:
            continue
        if isinstance(default, Section) and isinstance(value, dict):
            completed[name] = _completed(default, value)
        elif field is not None and field.annotation is int and isinstance(value, float) and value.is_integer():
            completed[name] = int(value)
        else:
            completed[name] = value
    return completed


def _explained(error: ValidationError, origins: _Origins) -> Iterator[_Mistake]:
    """Pydantic's errors in plain words, each at the line or `--set` that caused it."""
    details = error.errors(include_url=False)
    around = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
    for detail in details:
        path: yaml_tree.Path = detail["loc"]
        if path in around:  # a list that is too short because its wrong items were left out
            continue
        if detail["type"] == "extra_forbidden":
            names = tuple(name for name in path if isinstance(name, str))
            yield _Mistake(_nearest(origins, path), path, f"unknown option{_where_it_lives(names)}")
        elif detail["type"] == "value_error":
            message = str(detail["ctx"]["error"])
            yield _Mistake(_cause(origins, path, message), path, message)
        else:
            option = tuple(name for name in path if isinstance(name, str))
            yield _Mistake(_nearest(origins, path), option, _must_be(option, detail["input"]))


def _must_be(option: tuple[str, ...], found: object) -> str:
    entry = catalogue()[option]
    if found is None:
        return f"has no value, must be {entry.allowed}"
    hint = _suggestion(found, entry.choices) if isinstance(found, str) else ""
    if entry.allowed.startswith("text") and isinstance(found, bool | int | float):
        hint = " (put it in quotes)"
    return f"must be {entry.allowed}, found {_shown(found)}{hint}"


def _where_it_lives(path: tuple[str, ...]) -> str:
    """A hint for an unknown option: a name like it in its section, or sections that know its name, or all there is."""
    *_, name = path
    siblings = names_in(path[:-1])
    homes = [_dotted(known[:-1]) for known in catalogue() if known[-1] == name and len(known) > 1]
    if hint := _suggestion(name, siblings):
        return hint
    return f" ('{name}' belongs under {' or '.join(homes)})" if homes else f"; known here: {', '.join(siblings)}"


def _suggestion(name: str, known: Sequence[str]) -> str:
    matches = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean '{matches[0]}'?)" if matches else ""


def _nearest(origins: _Origins, path: yaml_tree.Path) -> _Origin:
    """The origin of `path` or of the innermost thing around it that has one."""
    return next(origins[path[:depth]] for depth in range(len(path), -1, -1) if path[:depth] in origins)


def _cause(origins: _Origins, section: yaml_tree.Path, message: str) -> _Origin:
    """The origin of a contradiction inside `section`: the last `--set` of an option it names, else the section's line.

    A contradiction between sections names options with their sections; of these the last line is the origin.
    """
    words = set(re.findall(r"[\w.]+", message))
    inside = {path: origin for path, origin in origins.items() if _dotted(path[len(section) :]) in words}
    overrides = [origin for origin in inside.values() if origin.is_override]
    return max(overrides or (inside.values() if not section else ()), default=_nearest(origins, section))


def _dotted(path: yaml_tree.Path) -> str:
    return ".".join(str(name) if str(name).isprintable() else ascii(name)[1:-1] for name in path)


def _shown(value: object) -> str:
    """A value as a user would write it, on one line and not long."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, bool):
        return str(value).lower()
    shown = repr(list(value) if isinstance(value, tuple) else value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
