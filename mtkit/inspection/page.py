"""HTML pages that stand alone: a template filled, and the page written whole or not at all.

Comes in: a template beside this file and what it tells. Goes out: a page that needs neither network nor script, the same
bytes for the same content. Knows nothing of what the pages are about.
"""

import re
from pathlib import Path

import jinja2

import mtkit
from mtkit.support.errors import UserError
from mtkit.support.files import whole_file
from mtkit.support.progress import duration

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that must not stand in a page, however they are written."""


def render_page(template: str, **content: object) -> str:
    """The page. All text in it is escaped, and characters that no page may hold are replaced by U+FFFD."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"duration": duration, "number": "{:,}".format, "fixed": fixed}
    return UNPRINTABLE.sub("\ufffd", environment.get_template(template).render(version=mtkit.__version__, **content))


def check_target(target: Path, option: str) -> None:
    """UserError if no page can be written to `target`, the value of `option`."""
    if target.is_dir():
        raise UserError(f"{option} {target} is a folder: name a file in it")
    if not target.absolute().parent.is_dir():
        raise UserError(f"{option} {target}: there is no folder {target.absolute().parent}: make it first")


def write_page(page: str, target: Path, option: str) -> None:
    """Writes the page to `target`, whole or not at all. UserError if it cannot be written there."""
    check_target(target, option)
    with whole_file(target, cure=f" or name another file with {option}") as stream:
        stream.write(page.encode("utf-8"))


def fixed(value: float | None, decimals: int) -> str:
    """A figure in a table."""
    return "–" if value is None else f"{value:,.{decimals}f}"
