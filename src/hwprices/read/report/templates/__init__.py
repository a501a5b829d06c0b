"""Fill in the templates of this folder. What a release holds is escaped: it is text, never HTML."""

from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("hwprices.read.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, **values: Any) -> str:
    """Fill in a template.

    Raises:
        jinja2.UndefinedError: the template names a value that is not given.
    """
    return _environment().get_template(template).render(**values)
