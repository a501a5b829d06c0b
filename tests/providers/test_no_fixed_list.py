"""Check that nothing names the providers in a list: they are found by their folders and sheets.

Outside of a provider's own folder, no collection of code has the ids of two providers, and no
sentence enumerates three: such a list is wrong from the day the next provider comes.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.helpers.cases import cases

from hwprices import providers

CODE = ("src/hwprices", "flows", "schemas", "tools")

ABOUT_SOME = (
    *("providers/", "sample/", "read/gcp.py", "crosschecks/", "demo_"),
    *("read/bill/", "read/export/tools/", "release/database"),
)
"""Parts of paths: providers' own folders, and what is about some providers by purpose: bills, files
of other tools and the names that FOCUS has."""

Collection = ast.List | ast.Tuple | ast.Set | ast.Dict


@cache
def names() -> list[str]:
    """List how providers are called: ids, ids as acronyms, and titles."""
    titles = [providers.get(name).about.title for name in providers.names()]
    return [*providers.names(), *(name.upper() for name in providers.names()), *titles]


def code_files(project: Path) -> list[Path]:
    """List the modules that must serve any provider."""
    files = [file for folder in CODE for file in sorted((project / folder).rglob("*.py"))]
    return [file for file in files if not any(part in file.as_posix() for part in ABOUT_SOME)]


def enumerations(text: str) -> list[str]:
    """Find three names in a row: ``aws, azure, gcp`` or ``AWS, GCP and Azure``."""
    name = "|".join(re.escape(name) for name in sorted(names(), key=len, reverse=True))
    between = r"(?:, | and | or |, and |/|;)"
    pattern = rf"(?<!\w)(?:{name})(?:{between}(?:{name})){{2,}}(?!\w)"
    return [match.group() for match in re.finditer(pattern, " ".join(text.split()))]


def collections(tree: ast.AST) -> Iterator[Collection]:
    """Yield each collection that is written out with the ids of two providers or more."""
    ids = set(providers.names())
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            elements = [*node.keys, *node.values]
        elif isinstance(node, ast.List | ast.Tuple | ast.Set):
            elements = list(node.elts)
        else:
            continue
        words = {element.value for element in elements if isinstance(element, ast.Constant)}
        if len(words & ids) > 1:
            yield node


def test_no_collection_has_the_ids_of_providers(project: Path) -> None:
    listed = [
        f"{file.relative_to(project)}:{node.lineno}"
        for file in code_files(project)
        for node in collections(ast.parse(file.read_text(encoding="utf-8")))
    ]
    assert listed == []


def test_no_sentence_enumerates_the_providers(project: Path) -> None:
    listed = {
        file.relative_to(project).as_posix(): enumerations(file.read_text(encoding="utf-8"))
        for file in code_files(project)
    }
    assert {name: lists for name, lists in listed.items() if lists} == {}


@cases("providers/lists_and_examples", count=int)
def test_a_list_is_told_from_examples(text: str, count: int) -> None:
    assert len(enumerations(text)) == count


def test_a_collection_is_found() -> None:
    code = "COLOURS = {'aws': 1, 'gcp': 2}; NAMES = ('aws', 'b')"
    assert len(list(collections(ast.parse(code)))) == 1
