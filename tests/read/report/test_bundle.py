"""The script and style in the package are those that tools/page builds."""

import hashlib
from pathlib import Path

from hwprices.read.report.files import bundled

INPUTS = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")
SUFFIXES = {".ts", ".tsx", ".css"}


def digest(folder: Path) -> str:
    """Compute the digest of the sources as tools/page/build.mjs does."""
    sources = [
        path.relative_to(folder).as_posix()
        for path in (folder / "src").rglob("*")
        if path.suffix in SUFFIXES
    ]
    whole = hashlib.sha256()
    for name in sorted([*INPUTS, *sources]):
        content = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        whole.update(f"{name} {content}\n".encode())
    return whole.hexdigest()


def test_the_bundle_was_built_from_these_sources(project: Path) -> None:
    built = bundled("sources.sha256").text.strip()
    remedy = "tools/page changed: cd tools/page && npm ci && npm run build"
    assert digest(project / "tools" / "page") == built, remedy


def test_the_bundle_cannot_end_its_own_element() -> None:
    assert "</script" not in bundled("page.js").text.lower()
    assert "</style" not in bundled("page.css").text.lower()


def test_the_bundle_loads_nothing_from_elsewhere() -> None:
    assert "@import" not in bundled("page.css").text
    assert "url(" not in bundled("page.css").text


def test_the_licenses_of_what_is_in_the_script_come_with_it() -> None:
    licenses = bundled("LICENSES.txt").text
    for package in ("@observablehq/plot 0.6.17 (ISC)", "preact 10.29.1 (MIT)", "d3-scale"):
        assert package in licenses
