"""Fuzz a parser guided by coverage, with atheris. Not part of the test suite.

    pip install atheris
    python -m tests.providers.fuzz.guided aws_spot --seconds 300 --found /tmp/found

atheris mutates a real page, keeps what reaches new code, and goes on from there; half of its
mutations change members of JSON, elements of XML or cells of CSV, the other half bytes. A page that
gives neither rows nor an error of our own is written into the folder ``--found``, one for each
place that raised, beside its traceback. Mend the parser, and keep the page as a test in
tests/providers/test_hostile_pages.py.

``all`` in place of a name fuzzes one parser after the other, each in a process of its own.
"""

import argparse
import hashlib
import json
import random
import re
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["hwprices"], enable_loader_override=False):
    from tests.providers.fuzz import pages, test_parsers

    from hwprices.providers.aws import normalise as _aws  # noqa: F401
    from hwprices.providers.azure import normalise as _azure  # noqa: F401
    from hwprices.providers.gcp import normalise as _gcp  # noqa: F401

NAMES = {make.__name__: make for make in test_parsers.PAGE_KINDS}
MAX_BYTES = 1_000_000
"""Longest page. The largest seed, GCP's recorded SKUs, has about half of that."""

CELLS = (b'"', b'""', b"\xe9", b"\x00", b"NaN", b"1e400", b"-1", b"9" * 10_000, b"", b",", b"0.5")
ELEMENTS = (b"", b"x", b"NaN", b"1e400", b"-1", b"<item/>", b"<a><b/></a>", b"&#0;", b"0.5", b"1")


def mutate_json(body: bytes, chance: random.Random) -> bytes:
    """Replace, drop, rename or repeat a few members. Raises ValueError for what is no JSON."""
    value = json.loads(body)
    places = list(pages._places(value))
    if not places:
        return body
    edits = [
        (
            chance.choice(places),
            chance.choice(("drop", "rename", "replace", "repeat")),
            chance.choice(pages.WRONG_VALUES),
        )
        for _ in range(chance.randint(1, 3))
    ]
    return pages._edit_members(value, edits)


def mutate_csv(body: bytes, chance: random.Random) -> bytes:
    """Replace a few cells."""
    lines = body.split(b"\n")
    places = [
        (chance.randrange(len(lines)), chance.randrange(40), chance.choice(CELLS))
        for _ in range(chance.randint(1, 3))
    ]
    return pages._edit_cells(lines, places)


def mutate_xml(body: bytes, chance: random.Random) -> bytes:
    """Drop, rename, empty or refill an element."""
    elements = list(re.finditer(rb"<([A-Za-z]+)>([^<]*)</\1>", body))
    if not elements:
        return body
    word = chance.choice((*ELEMENTS, b"DROP", b"RENAME"))
    return pages._edit_element(body, chance.choice(elements), word)


MUTATORS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "json": mutate_json,
    "csv": mutate_csv,
    "xml": mutate_xml,
}


class Parser:
    """One parser under test, and the folder for the pages that break it."""

    def __init__(self, name: str, found: Path) -> None:
        self.name = name
        self.kind = NAMES[name]()
        self.found = found
        self.checks = pages.Checks()
        self.seen: set[str] = set()

    def mutate(self, body: bytes, max_size: int, seed: int) -> bytes:
        """Change the structure of a page, or its bytes."""
        chance = random.Random(seed)
        if chance.random() < 0.5:
            try:
                changed = MUTATORS[self.kind.suffix](body, chance)
            except (ValueError, RecursionError):
                changed = b""
            if 0 < len(changed) <= max_size:
                return changed
        return bytes(atheris.Mutate(body, max_size))

    def read(self, body: bytes) -> None:
        """Read a page; write it down if it raises what no page may raise."""
        try:
            test_parsers.assert_rows_or_our_error(self.kind, body, self.checks)
        except BaseException as error:  # a fault is written down and fuzzing goes on
            if isinstance(error, KeyboardInterrupt):
                raise
            self._keep(body, error)

    def _keep(self, body: bytes, error: BaseException) -> None:
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        place = f"{type(error).__name__} " + " ".join(f"{f.name}:{f.lineno}" for f in frames)
        if place in self.seen:
            return
        self.seen.add(place)
        stem = self.found / f"{self.name}-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
        stem.with_suffix(".page").write_bytes(body)
        stem.with_suffix(".txt").write_text("".join(traceback.format_exception(error))[-6000:])
        sys.stdout.write(f"FOUND {stem}: {place}\n")


def fuzz(name: str, seconds: int, found: Path) -> None:
    """Fuzz one parser for some seconds. Ends the process."""
    parser = Parser(name, found)
    corpus = found / f"corpus-{name}"
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "seed").write_bytes(parser.kind.body)
    options = [
        sys.argv[0],
        f"-max_total_time={seconds}",
        f"-max_len={MAX_BYTES}",
        "-timeout=120",
        "-rss_limit_mb=4000",
        "-len_control=0",
        "-print_final_stats=1",
        f"-artifact_prefix={found}/{name}-",
        str(corpus),
    ]
    atheris.Setup(options, parser.read, custom_mutator=parser.mutate)
    atheris.Fuzz()


def main() -> None:
    """Read the arguments and fuzz."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("parser", choices=(*NAMES, "all"))
    arguments.add_argument("--seconds", type=int, default=300, help="for each parser")
    arguments.add_argument("--found", type=Path, default=Path("fuzz-found"))
    chosen = arguments.parse_args()
    if chosen.parser != "all":
        fuzz(chosen.parser, chosen.seconds, chosen.found)
    for name in NAMES:
        options = ["--seconds", str(chosen.seconds), "--found", str(chosen.found)]
        command = [sys.executable, "-m", "tests.providers.fuzz.guided", name, *options]
        subprocess.run(command, check=False)


if __name__ == "__main__":
    main()
