"""Fill in the templates of this folder. What a release holds is escaped: it is text, never HTML."""

from datetime import date
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("hwprices.read.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["day"] = day
    environment.globals["favicon"] = FAVICON
    return environment


FAVICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 20 20'%3E"
    "%3Cpath fill='%230b8a88' d='M2 18V11h4v7zM8 18V6h4v12zM14 18V2h4v16z'/%3E%3C/svg%3E"
)
"""The three bars of the logo."""


def day(time: date | str) -> str:
    """Write a day as the page does: 25 Nov 2026."""
    when = date.fromisoformat(time[:10]) if isinstance(time, str) else time
    return f"{when.day} {when:%b %Y}"


def render(template: str, **values: Any) -> str:
    """Fill in a template.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    return _environment().get_template(template).render(**values)
