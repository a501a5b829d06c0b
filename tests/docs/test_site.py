"""Build the documentation site strictly, and check that it needs no other host."""

import os
import re
from pathlib import Path

import pytest
from tests.helpers import processes

from hwprices import providers

pytestmark = pytest.mark.slow

LOADED_FROM_ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source)[^>]+src=[\"']?(?:https?:)?//[^>]*>"
    r"|<link[^>]+rel=[\"']?(?:stylesheet|preconnect|preload|icon)[^>]+href=[\"']?(?:https?:)?//[^>]*>"
    r"|url\([\"']?(?:https?:)?//[^)]*\)"
)
"""What a browser would fetch from another host by itself. Links that a person follows are fine."""


@pytest.fixture(scope="module")
def site(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site. A broken link or anchor, or a page in no place, fails the build."""
    site = tmp_path_factory.mktemp("site")
    command = ("-m", "mkdocs", "build", "--strict", "--site-dir", site)
    processes.python(*command, cwd=project, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"})
    return site


def test_the_first_page_shows_a_report_and_the_readme_is_a_page(site: Path) -> None:
    assert '<iframe src="report/index.html"' in (site / "index.html").read_text()
    text = (site / "readme.html").read_text()
    assert 'href="known-wrong-numbers.html"' in text
    assert "github.com" not in text  # nothing is linked that is not part of the project


def test_every_provider_has_a_page(site: Path) -> None:
    for name in providers.names():
        provider = providers.get(name)
        page = (site / f"providers/{provider.package.rpartition('.')[2]}.html").read_text()
        assert all(variable in page for variable, *_ in provider.own_settings)


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = [path for kind in ("*.html", "*.css") for path in site.rglob(kind)]
    assert len(pages) > len(providers.names())
    for page in pages:
        loaded = LOADED_FROM_ELSEWHERE.search(page.read_text())
        assert loaded is None, f"{page.relative_to(site)}: {loaded and loaded[0]}"
