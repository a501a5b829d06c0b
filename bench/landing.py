"""Measure landing a price list, beside the bare download of the same bytes.

A server on this machine sends a CSV in the vendor's format, plain and with gzip. The bare download
is httpx writing what arrives to a file; landing is that, packed (or not), hashed, counted, checked
and put below the landing root. What landing adds for each gigabyte of content is a row of its own.
"""

import sys
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from bench import aws_price_list, measure
from hwprices.landing.download import Http
from hwprices.landing.pages import Landing, Unit
from hwprices.settings import load

GOAL = measure.Goal(seconds=0.5)

BLOCK = 20_000_000
"""Bytes that are generated. They are repeated: zstd at this level sees 0.5 MB back, gzip 32 kB."""

SMALL = 40_000_000
FULL = 1_000_000_000

SMALL_RUNS = 60
"""A download of the small size takes 0.03 s. The ratio of the least of three varies between 1.2 and
1.9, that of the least of 60 between 1.31 and 1.36."""

GZIP_FORMAT = 16 + zlib.MAX_WBITS  # https://www.zlib.net/manual.html#Advanced
ENCODINGS = {"plain": "a page that comes unpacked", "gzip": "a page that comes with gzip"}


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the bare download and landing, of both forms."""
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as folder:
        size = write_bodies(Path(folder), SMALL if is_small else FULL)
        with serving(Path(folder)) as address:
            for encoding, what in ENCODINGS.items():
                url = f"{address}/{encoding}"
                costs = measure.compare(
                    {"download": (download, url, folder), "land": (land, url, folder)},
                    runs=SMALL_RUNS if is_small else 3,
                    in_process=is_small,
                )
                yield from of_encoding(what, size, costs, is_small=is_small)


def of_encoding(
    what: str, size: int, costs: dict[str, measure.Cost], *, is_small: bool
) -> Iterator[measure.Row]:
    """Make the rows of one form."""
    text = f"{size / 1e9:.2f} GB of content"
    bare, landed = costs["download"], costs["land"]
    yield measure.make_row(
        f"land {what}", text, landed, baseline=bare, baseline_name="bare download"
    )
    added = (landed.seconds - bare.seconds) / size * 1e9
    added_cpu = (landed.cpu_seconds - bare.cpu_seconds) / size * 1e9
    yield measure.make_row(
        f"what landing adds per GB, {what}",
        "1 GB of content",
        measure.Cost(added, added_cpu, landed.megabytes),
        goal=GOAL,
        is_small=is_small,
    )


def write_bodies(folder: Path, size: int) -> int:
    """Write the body in both forms; return the length of its content."""
    aws_price_list.generate(folder / "block", BLOCK)
    block = (folder / "block").read_bytes()
    packer = zlib.compressobj(1, wbits=GZIP_FORMAT)
    count = size // len(block)
    with (folder / "plain").open("wb") as plain, (folder / "gzip").open("wb") as packed:
        for _ in range(count):
            plain.write(block)
            packed.write(packer.compress(block))
        packed.write(packer.flush())
    return count * len(block)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the bodies on this machine; gives the server's address."""

    class Bodies(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = folder / self.path.strip("/")
            self.send_response(200)
            self.send_header("Content-Length", str(path.stat().st_size))
            self.send_header("Content-Type", "text/csv")
            if path.name == "gzip":
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.flush()
            with path.open("rb") as file:
                self.connection.sendfile(file)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Bodies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def download(url: str, folder: str) -> None:
    """Write what arrives to a file, and nothing else."""
    with (
        httpx.stream("GET", url, timeout=60) as response,
        Path(folder, "downloaded").open("wb") as file,
    ):
        for chunk in response.iter_raw():
            file.write(chunk)


def land(url: str, folder: str) -> None:
    """Land the body as a live run does."""
    with tempfile.TemporaryDirectory(prefix="hwprices-bench-") as root:
        body = Http(load()).download(url, Path(folder) / "body", expect="csv")
        Landing(root).land(Unit("aws", "prices", "us-east-1"), body, suffix="csv")


if __name__ == "__main__":
    sys.exit(measure.run_script(rows))
