"""HTML pages that stand alone: a template filled, and the page written whole or not at all.

Comes in: a template beside this file and what it tells. Goes out: a page that needs neither network nor script, the same
bytes for the same content. Knows nothing of what the pages are about.
"""

from collections.abc import Callable
from pathlib import Path

from mtkit.support.errors import UserError
from mtkit.support.files import whole_file
from mtkit.support.pages import filled
from mtkit.support.progress import duration


def render_page(template: str, **content: object) -> str:
    """The page made of the template of that name beside this file."""
    filters: dict[str, Callable[..., str]] = {"duration": duration, "number": "{:,}".format, "fixed": fixed}
    return filled(Path(__file__).parent, template, filters, **content)


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
