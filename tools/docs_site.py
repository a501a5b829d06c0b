"""Write pages from outside docs/ on the documentation site: hooks for mkdocs, named in mkdocs.yml.

The README is a page, and each provider's README is a page under "Providers". Links between
pages are rewritten from places in the checkout to places on the site. A link to a file that is not
on the site becomes its path.
"""

import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

PROJECT = Path(__file__).resolve().parents[1]

PAGES = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "data/specs/README.md": "specs.md",
    "data/sample/README.md": "sample.md",
    "schemas/README.md": "schemas.md",
}
"""List files outside docs/ by their place in the checkout, and the page each becomes."""

OPTIONAL_NAV = {
    "Tables and columns": "data-dictionary.md",
    "Command line": "cli.md",
    "Providers at a glance": "providers.md",
    "Answers": "answers.md",
    "Devices": "devices.md",
}
"""Pages that `make docs` writes into docs/. They are not in git."""

LINK = re.compile(r"(!?\[)([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```\w+) .+$", re.M)
CODE_BLOCK = re.compile(r"(^```.*?^```$)", re.M | re.S)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Complete the navigation: the providers, and generated pages that exist."""
    sections = {name: pages for entry in config.nav or [] for name, pages in entry.items()}
    sections["Providers"] = [{title(file): page} for file, page in provider_readmes().items()]
    sections["Reference"] += [
        {name: page} for name, page in OPTIONAL_NAV.items() if (PROJECT / "docs" / page).is_file()
    ]
    config.nav = [{name: pages} for name, pages in sections.items()]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages from outside docs/."""
    for source, page in outside_pages().items():
        content = (PROJECT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=content))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Rewrite the links and images of a page, code blocks aside.

    A fence has one word on the site: Markdown's fenced_code reads no block with several.
    """
    places = {f"docs/{file.src_uri}": file.src_uri for file in files if not file.generated_by}
    places |= outside_pages()
    source = next(place for place, name in places.items() if name == page.file.src_uri)
    chunks = CODE_BLOCK.split(markdown)
    chunks[::2] = [rewrite_links(text, source, page.file.src_uri, places) for text in chunks[::2]]
    return FENCE.sub(r"\1", "".join(chunks))


def rewrite_links(text: str, source: str, page: str, places: dict[str, str]) -> str:
    """Point links of ``source`` (in the checkout) to pages of the site; ``page`` is its own."""

    def rewrite(link: re.Match[str]) -> str:
        opening, words, target, anchor = link[1], link[2], link[3], link[4] or ""
        if ":" in target:
            return link[0]
        place = normpath(str(PurePosixPath(source).parent / target))
        if place in places:
            relative = relpath(places[place], str(PurePosixPath(page).parent))
            return f"{opening}{words}]({relative}{anchor})"
        return f"`{place}`" if words in (place, target) else f"{words} (`{place}`)"

    return LINK.sub(rewrite, text)


def outside_pages() -> dict[str, str]:
    """List files outside docs/ by their place in the checkout, and the page each becomes."""
    return PAGES | provider_readmes()


def provider_readmes() -> dict[str, str]:
    """Return the README of each provider, and the page it becomes."""
    readmes = sorted((PROJECT / "src/hwprices/providers").glob("*/README.md"))
    return {
        readme.relative_to(PROJECT).as_posix(): f"providers/{readme.parent.name}.md"
        for readme in readmes
    }


def title(source: str) -> str:
    """Read the first heading of a file."""
    return (PROJECT / source).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
