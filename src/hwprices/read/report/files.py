"""The files that come with the program: templates, and the script and style that tools/page built.

What a release holds is escaped in a template: it is text, never HTML.
"""

import base64
import hashlib
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

FOLDER = resources.files("hwprices.read.report")


@dataclass(frozen=True)
class Built:
    """A file of the bundle that tools/page built, and its hash as a Content-Security-Policy has it.

    The policy names the hash, so that the browser runs this script and no other.
    """

    text: str

    @property
    def csp_hash(self) -> str:
        """The SHA-256 in base64."""
        return base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()

    @property
    def markup(self) -> Markup:
        """The text as it stands between <script> and </script>, which esbuild sees to."""
        return Markup(self.text)  # noqa: S704 - our own file; the release has no part in it


def bundled(name: str) -> Built:
    """Read a file of the bundle."""
    return Built((FOLDER / "bundle" / name).read_text(encoding="utf-8"))


def image() -> bytes:
    """Read the picture that is shown where somebody links to the page."""
    return (FOLDER / "bundle" / "og.png").read_bytes()


def template(name: str) -> str:
    """Read a file of the templates that has nothing to fill in."""
    return (FOLDER / "templates" / name).read_text(encoding="utf-8")


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
