"""HTML pages that stand alone: a template and what it tells, put together.

Comes in: the template's folder and name, its filters and content. Goes out: a page, the same bytes for the same content.
Templates extend frame.html beside this file, which is what all pages look like. Knows nothing of what they are about.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import jinja2

import mtkit

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that must not stand in a page, however they are written."""


def filled(folder: Path, template: str, filters: Mapping[str, Callable[..., str]], **content: object) -> str:
    """The page. All text in it is escaped, and characters that no page may hold are replaced by U+FFFD."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([folder, Path(__file__).parent]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= filters
    return UNPRINTABLE.sub("\ufffd", environment.get_template(template).render(version=mtkit.__version__, **content))
