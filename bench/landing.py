"""Measure landing a price list, beside the bare download of the same bytes.

A server on this machine sends a CSV in the vendor's format, plain and with gzip. In the bare
download, httpx writes the received bytes to a file. Landing also compresses (if needed), hashes,
counts and checks them, and puts them below the landing root. A separate row has the added time per
gigabyte of content.
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
"""Bytes that are generated, then repeated: zstd at this level looks back 0.5 MB, gzip 32 kB."""

SMALL = 40_000_000
FULL = 1_000_000_000

SMALL_RUNS = 60
"""A download of the small size takes 0.03 s. The ratio of the fastest of three runs varies between
1.2 and 1.9, that of the fastest of 60 between 1.31 and 1.36."""

GZIP_FORMAT = 16 + zlib.MAX_WBITS  # https://www.zlib.net/manual.html#Advanced
ENCODINGS = {"plain": "a page that comes unpacked", "gzip": "a page that comes with gzip"}


def rows(is_small: bool) -> Iterator[measure.Row]:
    """Measure the bare download and landing, for both encodings."""
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
                yield from encoding_rows(what, size, costs, is_small=is_small)


def encoding_rows(
    what: str, size: int, costs: dict[str, measure.Cost], *, is_small: bool
) -> Iterator[measure.Row]:
    """Make the rows of one encoding."""
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
    """Write the body in both encodings; return the length of its content."""
    aws_price_list.generate(folder / "block", BLOCK)
    block = (folder / "block").read_bytes()
    compressor = zlib.compressobj(1, wbits=GZIP_FORMAT)
    count = size // len(block)
    with (folder / "plain").open("wb") as plain, (folder / "gzip").open("wb") as compressed:
        for _ in range(count):
            plain.write(block)
            compressed.write(compressor.compress(block))
        compressed.write(compressor.flush())
    return count * len(block)


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the bodies on this machine; yield the server's address."""

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
    """Write the received bytes to a file."""
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
