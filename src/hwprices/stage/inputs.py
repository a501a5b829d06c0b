"""Write down what staged tables were made of: which pages, and what read them.

Normalising is pure: the same pages and the same reading give the same rows. So two digests tell,
release by release, whether a difference is the vendor's or ours (docs/history.md).
"""

import ast
import hashlib
import importlib.util
import json
from collections.abc import Callable, Iterable
from functools import cache
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

from hwprices import providers, specs
from hwprices.landing.pages import Run, UnitResult
from hwprices.release.manifest import DIGEST_CHARACTERS, Inputs, Reading, UnitInput
from hwprices.stage import corrections
from hwprices.storage import manifests

PACKAGE = Path(providers.__file__).parents[1]

READERS = (
    "errors.py",
    "hidden_characters.py",
    "landing/pages.py",
    "landing/strict_json.py",
    "providers/__init__.py",
    "rows",
    "schemas",
    "specs",
    "stage",
    "units.py",
)
"""Modules and folders that turn pages into rows, beside the folder of the provider."""

LIBRARIES = ("polars", "polars-hash", "msgspec", "pyarrow", "defusedxml", "pandera")
"""Libraries that parse pages or compute rows."""


def inputs(run: Run) -> Inputs:
    """Describe what the tables of a run are made of."""
    units = [_unit(result) for result in sorted(run.results, key=lambda one: one.unit.name)]
    return Inputs(reading(run.provider), _pages_digest(run), tuple(units))


def reading(provider: str) -> Reading:
    """Describe what reads a provider's pages now."""
    return Reading(
        code=_digest([*_library_versions(), *_program(provider)]),
        sheets=_digest(_files(specs.sheet_directory(), _sheets(provider))),
        corrections=_digest(_json(entry) for entry in corrections.load(provider)),
    )


def _program(provider: str) -> list[str]:
    """List the source files that read a provider's pages, each with the hash of its code.

    A provider that is no longer in the program has no files of its own.
    """
    if provider not in providers.names():
        return _common_program()
    folder = Path(*_locations(providers.get(provider).package))
    return [*_common_program(), *_files(folder, _below([folder], ".py"), code_of)]


@cache
def _common_program() -> list[str]:
    return _files(PACKAGE, _below([PACKAGE / name for name in READERS], ".py"), code_of)


def _locations(package: str) -> list[str]:
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or [])[:1] if spec else []


def _sheets(provider: str) -> list[Path]:
    """List the sheets that a normaliser may read: its own, and those that name accelerators."""
    folder = specs.sheet_directory()
    names = folder / "accelerator_names" / f"{provider}.csv"
    return _below([*folder.glob(f"{provider}_*.csv"), folder / "accelerators.csv", names], ".csv")


def _below(paths: Iterable[Path], suffix: str) -> list[Path]:
    files: set[Path] = set()
    for path in paths:
        files.update(path.rglob(f"*{suffix}") if path.is_dir() else [path])
    return sorted(file for file in files if file.is_file() and file.suffix == suffix)


def _files(
    folder: Path, files: Iterable[Path], content: Callable[[bytes], bytes] = bytes
) -> list[str]:
    """List each file with the hash of its content, or of what ``content`` makes of it."""
    return [
        f"{file.relative_to(folder).as_posix()} "
        + hashlib.sha256(content(file.read_bytes())).hexdigest()
        for file in files
    ]


@cache
def code_of(source: bytes) -> bytes:
    """Return the syntax tree of a module without its prose, so that rewording changes no digest."""
    return ast.dump(_WithoutProse().visit(ast.parse(source))).encode()


class _WithoutProse(ast.NodeTransformer):
    """Removes docstrings, of attributes too; comments are not in a syntax tree."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node


@cache
def _library_versions() -> tuple[str, ...]:
    return tuple(f"{name} {installed_version(name)}" for name in LIBRARIES)


def _unit(result: UnitResult) -> UnitInput:
    regions = result.unit.params.get("regions", "")
    return UnitInput(
        unit=f"{result.unit.kind}/{result.unit.region}",
        status=result.status,
        pages=tuple(page.sha256[:DIGEST_CHARACTERS] for page in result.pages),
        regions=tuple(name for name in regions.split(",") if name),
    )


def _pages_digest(run: Run) -> str:
    """Hash the pages and how they were requested, but not when they were fetched."""
    units = sorted(run.results, key=lambda one: one.unit.name)
    return _digest(
        _json(
            [
                result.unit.name,
                dict(result.unit.params),
                result.cause,
                [[page.sha256, page.url, dict(page.params)] for page in result.pages],
            ]
        )
        for result in units
    )


def _json(value: Any) -> str:
    return json.dumps(json.loads(manifests.encode(value)), sort_keys=True)


def _digest(lines: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:DIGEST_CHARACTERS]
