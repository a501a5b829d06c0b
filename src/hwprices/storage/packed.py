"""Write and read packed (compressed) files: gzip as a vendor sent it, zstd for everything else.

A file is hashed and counted while it is written, so it need not be read again.
"""

import gzip
import hashlib
import io
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Self

import zstandard

from hwprices.storage.layout import SUFFIXES, Packing

LEVEL = 1
"""zstd's fastest regular level. Files of prices are as small as at level 3, and smaller than with
zlib at level 6, in a tenth of its time."""

PIECE = 1 << 20
"""Length of the pieces in which content is passed to zstd, however it arrives. zstd's output may
depend on the pieces, and equal content must give equal bytes."""


@dataclass(frozen=True)
class PackedFile:
    """A packed file on disk.

    ``sha256`` and ``stored_bytes`` describe the file itself; ``content_bytes`` is the length of
    its decompressed content.
    """

    path: Path
    packing: Packing
    sha256: str
    stored_bytes: int
    content_bytes: int

    def read(self) -> bytes:
        """Return the content. It must fit in memory."""
        with open_packed(self.path, self.packing) as content:
            return read_all(content)


class Writer:
    """Writes a compressed file as its content arrives.

    With ``"gzip"`` the data is compressed already and stays as it is. With ``"zstd"`` a thread
    compresses one piece while the caller collects the next.
    """

    def __init__(self, path: Path, packing: Packing) -> None:
        self.path = path
        self.packing: Packing = packing
        self._packer = _packer() if packing == "zstd" else None
        self._hash = hashlib.sha256()
        self._threads = ThreadPoolExecutor(1)  # starts its thread on first use
        self._work: Future[None] | None = None
        self._waiting = bytearray()
        self._written = 0
        self._stored = 0

    def __enter__(self) -> Self:
        self._file = self.path.open("wb")
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown()
        self._file.close()

    def write(self, data: bytes) -> None:
        """Add the next bytes of the content, or of the gzip stream."""
        self._written += len(data)
        if self._packer is None:
            self._store(data)
            return
        remaining = memoryview(data)
        while len(remaining) >= (room := PIECE - len(self._waiting)):
            self._waiting += remaining[:room]
            remaining = remaining[room:]
            self._wait()
            self._work = self._threads.submit(self._pack, self._packer, self._waiting)
            self._waiting = bytearray()
        self._waiting += remaining

    def finish(self, content_bytes: int | None = None) -> PackedFile:
        """End the file and describe it. ``content_bytes`` is needed for gzip only."""
        self._wait()
        if self._packer is not None:
            self._store(self._packer.compress(self._waiting) + self._packer.flush())
        self._file.flush()
        length = self._written if content_bytes is None else content_bytes
        return PackedFile(self.path, self.packing, self._hash.hexdigest(), self._stored, length)

    def _wait(self) -> None:
        if self._work is not None:
            self._work.result()

    def _pack(self, packer: Any, piece: bytearray) -> None:
        self._store(packer.compress(piece))

    def _store(self, data: bytes) -> None:
        self._hash.update(data)
        self._stored += self._file.write(data)


def pack(content: bytes) -> bytes:
    """Pack content with zstd, into the same bytes as ``Writer``."""
    packer = _packer()
    pieces = [packer.compress(content[at : at + PIECE]) for at in range(0, len(content), PIECE)]
    return b"".join([*pieces, packer.flush()])


def _packer() -> Any:
    """Begin a zstd stream that ends with a checksum of the content."""
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=True).compressobj()


def packing_of(name: str) -> Packing:
    """Return how a file is compressed, from its name."""
    return "zstd" if name.endswith(SUFFIXES["zstd"]) else "gzip"


def open_packed(file: Path | BinaryIO, packing: Packing) -> IO[bytes]:
    """Open a packed file; its content is decompressed as it is read."""
    if packing == "gzip":
        return gzip.open(file)  # type: ignore[return-value]
    stream: IO[bytes] = zstandard.open(file, "rb")
    return stream


def read_all(content: IO[bytes], max_bytes: int | None = None) -> bytes:
    """Read to the end, or until there are more than ``max_bytes``."""
    pieces = io.BytesIO()  # joining a list of pieces would take twice the memory
    while (max_bytes is None or pieces.tell() <= max_bytes) and (piece := content.read(PIECE)):
        pieces.write(piece)
    return pieces.getvalue()
