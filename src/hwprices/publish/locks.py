"""Allow one publisher at a time in a folder, and one collecting run at a time for a provider.

A run's lease is a key at the root with its holder and a counter. The holder increases the counter
every BEAT_SECONDS by compare-and-swap. A waiting run watches the counter with its own clock, so
other machines' clocks do not matter. If the counter does not change for FREE_SECONDS, the holder
has crashed and its lease is taken over.
"""

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import filelock

from hwprices.errors import HwpricesError
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store, Tagged

LOCK_SECONDS = 10  # A publisher that would have to wait longer fails


class BusyError(HwpricesError):
    """Another publisher is at work or was faster: the same publication may succeed later."""


@contextmanager
def lock(store: Store, key: str = layout.PUBLISH_LOCK) -> Iterator[None]:
    """Hold a lock file in a folder, by default the one that allows one publisher at a time.

    An object store needs no lock: there ``release`` moves the pointer by compare-and-swap.

    Raises:
        BusyError: another publisher holds the lock.
        HwpricesError: the folder cannot be written.
    """
    path = store.local(key)
    if path is None:
        yield
        return
    held = _acquire(path, store.root)
    try:
        yield
    finally:
        held.release()


def _acquire(path: Path, root: str) -> filelock.BaseFileLock:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file_lock = filelock.FileLock(path, timeout=LOCK_SECONDS)
        file_lock.acquire()
    except filelock.Timeout:
        raise BusyError(
            f"another publisher is at work in {root}", "Wait for it to end and try again."
        ) from None
    except OSError as error:
        raise HwpricesError(
            f"cannot write in {root}: {error.strerror or error}",
            "Check that the folder exists and may be written.",
        ) from None
    return file_lock


BEAT_SECONDS = 4
FREE_SECONDS = 20
"""Five beats: a busy machine may miss some. With BEAT_SECONDS it is below half a minute."""

POLL_SECONDS = 1
SAY_SECONDS = 30  # How often a waiting run reports
Say = Callable[[str], None]


@dataclass(frozen=True)
class Lease:
    """The holder of a lease and since when. ``beat`` is the counter; None: it was released."""

    host: str
    pid: int
    run: str
    since: str
    token: str
    beat: int | None = 0


@contextmanager
def hold(store: Store, name: str, run: str, say: Say) -> Iterator[None]:
    """Wait for the lease of a name, and hold it during the block.

    Args:
        store: the root.
        name: what the lease is for, such as a provider.
        run: the name of this run, shown to waiting runs.
        say: called with a line when this run has to wait, then every SAY_SECONDS; also when the
            lease was lost because this process or the root did not respond in time.
    """
    key = layout.lease(name)
    since = datetime.now(UTC).isoformat(timespec="seconds")
    mine = Lease(socket.gethostname(), os.getpid(), run, since, uuid.uuid4().hex)
    _wait(store, key, mine, say)
    done = threading.Event()
    beating = threading.Thread(target=_beat, args=(store, key, mine, done, say), daemon=True)
    beating.start()
    try:
        yield
    finally:
        done.set()
        beating.join()
        with suppress(HwpricesError):  # on failure it expires after FREE_SECONDS
            _write(store, key, replace(mine, beat=None))


def _wait(store: Store, key: str, mine: Lease, say: Say) -> None:
    tag, changed, reported = "", time.monotonic(), float("-inf")
    while True:
        tagged = store.get_tagged(key)
        now = time.monotonic()
        if tagged and tagged.tag != tag:
            tag, changed = tagged.tag, now
        holder = _decode_lease(tagged)
        if holder is None or now - changed >= FREE_SECONDS:
            if _swap(store, key, mine, tagged):
                return
        elif now - reported >= SAY_SECONDS:
            reported = now
            say(
                f"waiting for process {holder.pid} on {holder.host} (run {holder.run}), which has"
                f" been collecting since {holder.since}; if it has crashed, for"
                f" {FREE_SECONDS} s at most"
            )
        time.sleep(POLL_SECONDS)


def _beat(store: Store, key: str, mine: Lease, done: threading.Event, say: Say) -> None:
    """Renew the lease until it is released or lost; failed writes are retried."""
    count = 0
    while not done.wait(BEAT_SECONDS):
        count += 1
        with suppress(HwpricesError):
            if not _write(store, key, replace(mine, beat=count)):
                say("another run took over this one as crashed, and collects at the same time")
                return


def _write(store: Store, key: str, mine: Lease) -> bool:
    """Replace the lease if this run still holds it; return whether it does."""
    tagged = store.get_tagged(key)
    holder = _decode_lease(tagged)
    return holder is not None and holder.token == mine.token and _swap(store, key, mine, tagged)


def _swap(store: Store, key: str, mine: Lease, tagged: Tagged | None) -> bool:
    with lock(store, f"{key}.lock"):
        return store.swap(key, manifests.encode(mine), tagged.tag if tagged else None)


def _decode_lease(tagged: Tagged | None) -> Lease | None:
    """Read the holder of a lease; None if there is none, or the file is damaged."""
    with suppress(HwpricesError):
        lease = tagged and manifests.decode(tagged.data, Lease, file="lease", remedy="")
        return lease if lease and lease.beat is not None else None
    return None
