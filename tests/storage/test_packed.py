"""Packed files: equal content gives equal bytes, and both packings are read back."""

import gzip
import hashlib
import io
import random

import pytest
import zstandard

from hwprices.storage.packed import PIECE, Writer, open_packed, pack, packing_of, read_all

LINES = b"".join(b"%d,us-east-1,p5.48xlarge,Linux\n" % n for n in range(90_000))  # 2.8 MB
PIECES = {"a byte": 1, "an odd length": 70_001, "a piece": PIECE, "all at once": 10 * PIECE}


@pytest.mark.parametrize("size", PIECES.values(), ids=PIECES.keys())
@pytest.mark.parametrize("content", [b"", b"x", LINES], ids=["empty", "short", "long"])
def test_equal_content_gives_equal_bytes_however_it_comes(tmp_path, content, size):
    content = content[:10_000] if size == 1 else content
    with Writer(tmp_path / "page", "zstd") as writer:
        for start in range(0, len(content), size):
            writer.write(content[start : start + size])
        file = writer.finish()
    stored = (tmp_path / "page").read_bytes()
    assert stored == pack(content)
    assert file.sha256 == hashlib.sha256(stored).hexdigest()
    assert (file.stored_bytes, file.content_bytes) == (len(stored), len(content))
    assert file.read() == content


def test_gzip_stays_as_it_came(tmp_path):
    stream = gzip.compress(LINES, 1)
    with Writer(tmp_path / "page", "gzip") as writer:
        writer.write(stream[:1000])
        writer.write(stream[1000:])
        file = writer.finish(len(LINES))
    assert (tmp_path / "page").read_bytes() == stream
    assert file.sha256 == hashlib.sha256(stream).hexdigest()
    assert (file.stored_bytes, file.content_bytes) == (len(stream), len(LINES))
    assert file.read() == LINES


def test_no_more_is_read_than_allowed_and_a_piece():
    noise = random.Random(1).randbytes(3 * PIECE)
    for name, stored in (("a.zst", pack(noise)), ("a.gz", gzip.compress(noise, 1))):
        with open_packed(io.BytesIO(stored), packing_of(name)) as content:
            assert PIECE < len(read_all(content, PIECE)) <= 2 * PIECE


def test_an_altered_file_is_noticed():
    stored = pack(LINES)
    altered = stored[:-1] + bytes([stored[-1] ^ 1])  # the last bytes are the checksum
    with pytest.raises(zstandard.ZstdError), open_packed(io.BytesIO(altered), "zstd") as content:
        read_all(content)
