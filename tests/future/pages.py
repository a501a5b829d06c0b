"""Open landed pages as plain lists of records, and land them again after they were changed.

Every format gives the same shape: JSON as it is, CSV as a list of its lines, EC2's XML as
structures and lists. A mutation needs to know neither the format nor the vendor.
"""

import csv
import io
import json
import pickle
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

import defusedxml.ElementTree

from hwprices.landing.pages import Landing, Page, Run, Unit, UnitResult

Record = dict[str, Any]
"""One line of a page: a member of JSON, a line of CSV, an item of XML."""

NAME = "$name"
"""The member that holds a record's name where the page is a mapping by name (Scaleway)."""

MIN_KEYED_MEMBERS = 4
"""Mappings whose values have fewer members are groups of lists (Google's zones), not records."""


class Keyed(list[Record]):
    """Records that their page has by name."""


@dataclass
class Document:
    """One landed page, opened."""

    unit: Unit
    page: Page
    suffix: str
    content: Any
    totals: Mapping[str, str]
    """Members that hold the length of a list beside them, such as Azure's ``Count``."""

    def body(self) -> bytes:
        """Write the page as its vendor does, its totals right."""
        for total, records in self.totals.items():
            self.content[total] = len(self.content[records])
        return encode(self.content, self.suffix)


@dataclass
class World:
    """The pages of one provider's run."""

    provider: str
    documents: list[Document]

    def lists(self, kind: str) -> Iterator[list[Record]]:
        """Yield the lists of records in the pages of a kind, which may have ``*``.

        ``kind/member`` means the lists of that member inside the records, such as the rates of a
        savings plan.
        """
        kind, _, inside = kind.partition("/")
        for document in self.documents:
            if fnmatch(document.unit.kind, kind):
                for records in _lists(document.content):
                    if not inside:
                        yield records
                    else:
                        yield from (record[inside] for record in records if inside in record)

    @property
    def kinds(self) -> list[str]:
        """List the kinds of pages, each once."""
        return list(dict.fromkeys(document.unit.kind for document in self.documents))

    def copy(self) -> "World":
        """Return a world that can be changed."""
        contents = pickle.loads(pickle.dumps([d.content for d in self.documents]))
        documents = [
            replace(document, content=content)
            for document, content in zip(self.documents, contents, strict=True)
        ]
        return World(self.provider, documents)

    @cached_property
    def bodies(self) -> list[bytes]:
        """The pages as the vendor would send them, once the world is changed."""
        return [document.body() for document in self.documents]

    def land(self, folder: Path) -> tuple[Landing, Run]:
        """Land the pages below a folder as one run."""
        landing = Landing(folder)
        pages: dict[str, list[Page]] = {}
        units: dict[str, Unit] = {}
        for document, body in zip(self.documents, self.bodies, strict=True):
            units[document.unit.name] = document.unit
            pages.setdefault(document.unit.name, []).append(
                landing.land_bytes(
                    document.unit,
                    body,
                    url=document.page.url,
                    retrieved_at=document.page.retrieved_at,
                    suffix=document.suffix,
                    params=document.page.params,
                )
            )
        results = tuple(UnitResult(units[n], "ok", tuple(landed)) for n, landed in pages.items())
        started = max(document.page.retrieved_at for document in self.documents)
        return landing, Run("future", self.provider, "sample", started, "test", results)


def open_run(landing: Landing, run: Run) -> World:
    """Open all pages of a run."""
    documents = []
    for result in run.results:
        for page in result.pages:
            suffix = page.key.split("/")[-1].split(".")[1]
            documents.append(document_of(result.unit, page, suffix, landing.read(page)))
    return World(run.provider, documents)


def document_of(unit: Unit, page: Page, suffix: str, body: bytes) -> Document:
    """Open a page."""
    content = decode(body, suffix)
    totals = {
        total: records
        for total, number in (content.items() if isinstance(content, dict) else ())
        for records, listed in content.items()
        if type(number) is int and isinstance(listed, list) and number == len(listed)
    }
    return Document(unit, page, suffix, content, totals)


def _lists(content: Any) -> Iterator[list[Record]]:
    """Yield lists of records from the outside in; records within records are not looked for."""
    if isinstance(content, list):
        if isinstance(content, Keyed) or (content and all(isinstance(c, dict) for c in content)):
            yield content
    elif isinstance(content, dict):
        for member in content.values():
            yield from _lists(member)


def decode(body: bytes, suffix: str) -> Any:
    """Open a page."""
    if suffix == "csv":
        return _decode_csv(body.decode())
    if suffix == "xml":
        return _decode_xml(body)
    return _keyed(json.loads(body))


def encode(content: Any, suffix: str) -> bytes:
    """Write a page as its vendor does."""
    if suffix == "csv":
        return _encode_csv(content)
    if suffix == "xml":
        return _encode_xml(content)
    return json.dumps(_unkeyed(content)).encode()


def _keyed(value: Any) -> Any:
    if isinstance(value, list):
        return [_keyed(member) for member in value]
    if not isinstance(value, dict):
        return value
    if value and all(_is_record(member) for member in value.values()):
        return Keyed({NAME: name} | member for name, member in value.items())
    return {name: _keyed(member) for name, member in value.items()}


def _is_record(value: Any) -> bool:
    if not isinstance(value, dict) or len(value) < MIN_KEYED_MEMBERS:
        return False
    return not all(isinstance(member, dict | list) for member in value.values())


def _unkeyed(value: Any) -> Any:
    if isinstance(value, Keyed):
        return {r[NAME]: {n: v for n, v in r.items() if n != NAME} for r in value}
    if isinstance(value, list):
        return [_unkeyed(member) for member in value]
    if isinstance(value, dict):
        return {name: _unkeyed(member) for name, member in value.items()}
    return value


def _decode_csv(text: str) -> Any:
    """Open a CSV page; AWS's price lists have lines of name and value before the header."""
    lines = text.splitlines(keepends=True)
    header = next((i for i, line in enumerate(lines) if line.count(",") > 1), 0)
    reader = csv.DictReader(io.StringIO("".join(lines[header:])))
    return {"head": lines[:header], "columns": reader.fieldnames, "lines": list(reader)}


def _encode_csv(content: Any) -> bytes:
    used = dict.fromkeys(name for line in content["lines"] for name in line)
    columns = [name for name in content["columns"] if name in used]
    columns += [name for name in used if name not in columns]
    out = io.StringIO("".join(content["head"]))
    out.seek(0, io.SEEK_END)
    writer = csv.DictWriter(out, columns, quoting=csv.QUOTE_ALL, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(content["lines"])
    return out.getvalue().encode()


def _decode_xml(body: bytes) -> Any:
    root = defusedxml.ElementTree.fromstring(body)
    return {"root": root.tag, "content": _from_xml(root)}


def _from_xml(element: Element) -> Any:
    if not len(element):
        return element.text or ""
    if all(_local(child) == "item" for child in element):
        return [_from_xml(child) for child in element]
    return {_local(child): _from_xml(child) for child in element}


def _encode_xml(content: Any) -> bytes:
    namespace, name = re.fullmatch(r"\{(.*)\}(.*)", content["root"]).groups()  # type: ignore[union-attr]
    root = Element(name, xmlns=namespace)
    _to_xml(root, content["content"])
    return tostring(root)


def _to_xml(element: Element, value: Any) -> None:
    if isinstance(value, dict):
        for name, member in value.items():
            _to_xml(SubElement(element, name), member)
    elif isinstance(value, list):
        for member in value:
            _to_xml(SubElement(element, "item"), member)
    else:
        element.text = str(value)


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]
