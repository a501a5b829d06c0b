"""Limits over real sockets: whatever a server sends, a page and a unit end in one clear line."""

import gzip
import resource
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.stub_server import Reply

from hwprices.landing import limits
from hwprices.landing.download import FetchError, Http
from hwprices.landing.limits import DamagedGzipError, Gunzip, Limits
from hwprices.settings import load

MEGABYTE = 1 << 20


class Clock:
    """A clock that the test sets."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def client(**settings):
    return Http(load(**{"read_timeout": 5, "attempts": 3, **settings}), sleep=lambda _: None)


def refusal(server, tmp_path, http, **options):
    """Download /a, which must fail at the first try and leave no file; return the line."""
    with pytest.raises(FetchError) as raised:
        http.download(f"{server.url}/a", tmp_path / "page", **options)
    assert len(server.requests) == 1
    assert list(tmp_path.iterdir()) == []
    assert f"{server.url}/a" in str(raised.value)
    return str(raised.value)


def test_a_body_without_end_is_refused_while_it_comes(stub, tmp_path):
    server = stub().on("/a", Reply(endless=bytes(65536)))
    line = refusal(server, tmp_path, client(max_page_bytes=MEGABYTE))
    assert "larger than 1048576 bytes" in line
    assert "HWPRICES_MAX_PAGE_BYTES" in line


def test_a_caller_may_allow_less_than_the_setting(stub, tmp_path):
    server = stub().on("/a", Reply(endless=bytes(65536)))
    assert "larger than 1000 bytes" in refusal(server, tmp_path, client(), max_bytes=1000)


def test_a_slow_drip_ends_at_the_deadline_of_the_page(stub, tmp_path):
    """Every byte comes well within the read timeout."""
    server = stub().on("/a", Reply(endless=b"x", pause=0.02))
    assert "takes longer than 0.3 s" in refusal(server, tmp_path, client(page_deadline=0.3))


@pytest.mark.timeout(20)
@pytest.mark.parametrize("limit", ["page_deadline", "unit_deadline"])
def test_headers_without_end_end_at_the_deadline(stub, tmp_path, limit):
    """Every byte of a header comes well within the read timeout."""
    server = stub().on("/a", Reply(endless_header=True, pause=0.02))
    http = client(**{limit: 0.3}).for_unit("aws.prices.us-east-1")
    with pytest.raises(FetchError, match=r"takes longer than 0\.3 s"):
        http.download(f"{server.url}/a", tmp_path / "page")
    assert list(tmp_path.iterdir()) == []


def test_the_next_page_of_a_connection_has_a_deadline_of_its_own(stub, tmp_path):
    server = stub().on("/a", Reply.json({}, stall=0))
    http = client(page_deadline=2)
    http.download(f"{server.url}/a", tmp_path / "page")
    time.sleep(2)
    http.download(f"{server.url}/a", tmp_path / "page")
    assert len(server.requests) == 2


def test_padding_without_end_after_a_gzip_body_is_refused(stub, tmp_path):
    headers = {"Content-Encoding": "gzip"}
    server = stub().on("/a", Reply(gzip.compress(b"{}"), headers=headers, endless=bytes(65536)))
    assert "larger than" in refusal(server, tmp_path, client(max_page_bytes=MEGABYTE))


def bomb(megabytes):
    """Zeros, compressed a thousandfold, in members of a megabyte."""
    return gzip.compress(bytes(MEGABYTE)) * megabytes


def test_a_decompression_bomb_is_refused_in_bounded_memory(stub, tmp_path):
    packed = bomb(400)
    server = stub().on("/a", Reply(packed, headers={"Content-Encoding": "gzip"}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert "200 times its length" in refusal(server, tmp_path, client())
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (after - before) * 1024 < 100 * MEGABYTE


def test_content_is_counted_decompressed(stub, tmp_path):
    server = stub().on("/a", Reply(bomb(10), headers={"Content-Encoding": "gzip"}))
    assert "larger than 5242880" in refusal(server, tmp_path, client(max_page_bytes=5 * MEGABYTE))


def test_a_page_that_compresses_well_is_accepted(stub, tmp_path):
    server = stub().on("/a", Reply(bomb(10), headers={"Content-Encoding": "gzip"}))
    page = client().download(f"{server.url}/a", tmp_path / "page")
    assert page.file.content_bytes == 10 * MEGABYTE


def test_an_error_page_without_end_is_quoted_in_a_line(stub, tmp_path):
    server = stub().on("/a", Reply(b"no such file ", status=404, endless=b"x" * 65536))
    assert "HTTP 404" in refusal(server, tmp_path, client())


def test_an_error_page_cannot_steer_a_terminal(stub, tmp_path):
    body = "\x1b[2J\x1b]0;title\x07 \u202egood\N{ZERO WIDTH SPACE}bye"
    server = stub().on("/a", Reply(body.encode(), status=404))
    refused = refusal(server, tmp_path, client())
    assert r"\x1b[2J\x1b]0;title\x07 \u202egood\u200bbye" in refused


def test_all_pages_of_a_unit_share_its_bytes(stub, tmp_path):
    server = stub().on("/a", Reply(bytes(600)))
    http = client(max_unit_bytes=1000).for_unit("aws/prices/us-east-1")
    http.download(f"{server.url}/a", tmp_path / "first")
    with pytest.raises(FetchError, match=r"aws/prices/us-east-1 has more than 1000 bytes"):
        http.download(f"{server.url}/a", tmp_path / "second")
    client(max_unit_bytes=1000).download(f"{server.url}/a", tmp_path / "third")


def test_a_unit_stalls_twice_and_no_more(stub, tmp_path):
    """One stall on the first page, one on the second: the third page is not waited for."""
    stall = Reply(b"{}", cut=0, stall=30)
    server = stub().on("/a", [stall, Reply(b"{}"), stall, Reply(b"{}")])
    http = client(read_timeout=1, attempts=4).for_unit("a unit")
    http.download(f"{server.url}/a", tmp_path / "page")
    with pytest.raises(FetchError, match="failed once, last: ReadTimeout"):
        http.download(f"{server.url}/a", tmp_path / "page")
    assert len(server.requests) == 3


def test_a_unit_past_its_deadline_makes_no_more_requests(stub, tmp_path):
    server = stub().on("/a", Reply(b"{}"))
    clock = Clock()
    http = client(unit_deadline=60)
    http._unit_limits = Limits(http.settings, "aws/prices/us-east-1", clock)
    http.download(f"{server.url}/a", tmp_path / "page")
    clock.now = 61
    with pytest.raises(FetchError, match=r"aws/prices/us-east-1 takes longer than 60 s"):
        http.download(f"{server.url}/a", tmp_path / "page")
    assert len(server.requests) == 1


def test_no_pause_goes_beyond_the_deadline_of_the_unit(stub, tmp_path):
    server = stub().on("/a", Reply(status=429, headers={"Retry-After": "100"}))
    clock = Clock()
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        clock.now += seconds

    http = Http(load(unit_deadline=130, attempts=9), sleep=sleep)
    http._unit_limits = Limits(http.settings, "a unit", clock)
    with pytest.raises(FetchError, match="takes longer than 130 s"):
        http.download(f"{server.url}/a", tmp_path / "page")
    assert pauses == [100, 30]


@given(
    members=st.lists(st.binary(max_size=3000), min_size=1, max_size=3),
    padding=st.integers(0, 20),
    size=st.integers(1, 500),
)
def test_gzip_is_decompressed_as_it_arrives(members, padding, size):
    stream = b"".join(gzip.compress(member) + bytes(padding) for member in members)
    gunzip = Gunzip()
    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    content = b"".join(piece for chunk in chunks for piece in gunzip.feed(chunk))
    assert content == b"".join(members)
    assert gunzip.is_complete


@given(content=st.binary(max_size=3000), cut=st.integers(1, 20))
def test_a_cut_gzip_stream_is_not_complete(content, cut):
    gunzip = Gunzip()
    list(gunzip.feed(gzip.compress(content)[:-cut]))
    assert not gunzip.is_complete


def unpacked(stream, size):
    """Give the content of a stream that arrives in pieces of this size; None if it is refused."""
    gunzip = Gunzip()
    try:
        pieces = [
            piece
            for start in range(0, len(stream), size)
            for piece in gunzip.feed(stream[start : start + size])
        ]
    except DamagedGzipError:
        return None
    return b"".join(pieces) if gunzip.is_complete else None


@given(
    content=st.binary(min_size=1, max_size=3000),
    place=st.integers(0, 10_000),
    bit=st.integers(0, 7),
    size=st.integers(1, 500),
)
def test_a_damaged_gzip_stream_never_gives_other_content(content, place, bit, size):
    stream = bytearray(gzip.compress(content))
    stream[place % len(stream)] ^= 1 << bit
    assert unpacked(bytes(stream), size) in (None, content)


@pytest.mark.parametrize("at", range(-8, 0))  # four bytes of checksum, four of length
def test_a_gzip_trailer_that_does_not_fit_is_refused(at):
    stream = bytearray(gzip.compress(b"instance_type,hourly\n" * 1000))
    assert unpacked(bytes(stream), 100) is not None
    stream[at] ^= 1
    assert unpacked(bytes(stream), 100) is None


def test_pieces_stay_small_however_much_a_stream_expands():
    sizes = [len(piece) for piece in Gunzip().feed(bomb(20))]
    assert max(sizes) <= limits.CHUNK
    assert sum(sizes) == 20 * MEGABYTE
