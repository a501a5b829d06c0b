"""Write docs/providers.md: every provider, what is collected from where, and what is missing.

``make docs`` calls it. The page is not in git. All of it comes from the providers themselves: their
``ABOUT``, and the runs of the sample.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from hwprices import providers
from hwprices.landing.pages import Landing, Run
from hwprices.providers import Provider
from tools.generated import PROJECT

TARGET = PROJECT / "docs" / "providers.md"

INTRODUCTION = """# Providers

Written from the providers' folders, the price sheets and the sample by `make docs`; do not edit by
hand.

Each provider is a folder in `src/hwprices/providers`, with a README that explains its prices, or a
price sheet in `data/price_sheets`: figures that a person read from a web page, because the vendor
has no list that programs may read. A price sheet grows old: every answer shows its day.
[A new provider](a-provider.md) explains how to add one. The last column is the day of the newest
page in the sample, of whatever kind; `hwprices show` has the days of the prices."""

HEADINGS = (
    "provider",
    "id",
    "collected without an account",
    "credentials add",
    "from",
    "not collected",
    "sample",
)


def report() -> str:
    """Return the page as Markdown, ending with a line break."""
    lines = [INTRODUCTION, "", f"| {' | '.join(HEADINGS)} |", "| --- " * len(HEADINGS) + "|"]
    return "\n".join([*lines, *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    landing = Landing(PROJECT / "data" / "sample")
    for name in providers.names():
        provider = providers.get(name)
        yield f"| {' | '.join(_cells(provider, landing.latest_run(name)))} |"


def _cells(provider: Provider, run: Run | None) -> list[str]:
    about = provider.about
    is_folder = not about.is_price_sheet
    readme = f"../src/hwprices/providers/{provider.name}/README.md"
    pages = [page for result in run.results for page in result.pages] if run else []
    hosts = sorted({_domain(urlsplit(page.url).hostname or "") for page in pages})
    days = [page.retrieved_at.date().isoformat() for page in pages]
    return [
        f"[{about.title}]({readme})" if is_folder else about.title,
        f"`{provider.name}`",
        about.without_account,
        about.with_credentials,
        ", ".join(hosts),
        about.missing,
        max(days, default="none"),
    ]


def _domain(host: str) -> str:
    """Shorten a host to whom it belongs: ``ec2.us-east-1.amazonaws.com`` to ``amazonaws.com``."""
    labels = host.split(".")
    own_labels = 3 if labels[-2:-1] == ["com"] else 2
    return ".".join(labels[-own_labels:])


if __name__ == "__main__":
    TARGET.write_text(report(), encoding="utf-8")
