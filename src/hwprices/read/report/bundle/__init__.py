"""The script and style that tools/page built."""

import base64
import hashlib
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup


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
    return Built((resources.files(__name__) / name).read_text(encoding="utf-8"))


def image() -> bytes:
    """Read the picture that is shown where somebody links to the page."""
    return (resources.files(__name__) / "og.png").read_bytes()
