"""Check what a run needs before it starts: the root, the endpoints, accounts and rights.

Nothing is collected: the few responses land in a temporary folder. Each call is tried once.
"""

import difflib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.landing.download import Http, public_url, redact
from hwprices.landing.download import client as new_client
from hwprices.landing.pages import Landing
from hwprices.providers import Check, Context, Provider
from hwprices.settings import Settings, describe, provider_endpoints
from hwprices.storage.scratch import scratch_directory
from hwprices.storage.store import Store

ROOM_BYTES = 20_000_000_000
"""Free space for a first live run of all providers: four times the 5 GB that it is estimated to
write. Three full-size clouds write 2.4 GB (docs/performance.md, "Refresh")."""

SCRATCH_BYTES = 5_000_000_000
"""Free space in the folder for temporary files. Pages lie there while they are received, and
`hwprices export` makes a DuckDB file there: 1.5 GB for three full-size clouds."""

MIN_BYTES = 1_000_000_000
"""With less free space the check fails: the pages and staged tables of three full-size clouds take
1.27 GB (docs/performance.md, "Refresh")."""

ROOT_TITLE = "Where releases go"  # No run can begin without this subject


@dataclass(frozen=True)
class Subject:
    """A group of checks: of a provider, the root or the settings."""

    title: str
    checks: tuple[Check, ...]


def check_all(settings: Settings, names: Sequence[str]) -> Iterator[Subject]:
    """Check for misspelled settings, then the root, then each provider. Yields as checks finish.

    Raises:
        HwpricesError: a name is not a provider's.
    """
    chosen = [providers.get(name) for name in names]
    if unknown := unknown_variables():
        detail = "no setting has this name, so it has no effect"
        checks = (Check(name, "absent", detail, remedy) for name, remedy in unknown)
        yield Subject("Settings", tuple(checks))
    yield Subject(ROOT_TITLE, tuple(_check_root(settings.root)))
    for provider in chosen:
        yield Subject(provider.about.title, tuple(_check_provider(provider, settings)))


def _check_root(root: str) -> Iterator[Check]:
    store = Store(root)
    try:
        if store.is_local:
            with _folder(Path(store.root).expanduser()) as folder:
                store.check_writable()
                free = shutil.disk_usage(folder).free
        else:
            store.check_writable()
    except HwpricesError as error:
        yield Check("write", "failed", error.message, error.remedy)
        return
    except OSError as error:
        yield Check("write", "failed", str(error), store.write_remedy)
        return
    yield Check("write", "ok", f"files can be written below {store.root}")
    if store.is_local:
        yield _check_room(
            "space",
            free,
            ROOM_BYTES,
            "Choose another --root, or collect fewer regions or providers.",
        )
    yield _check_scratch()


@contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Make a folder and its parents, and remove them at the end of the block."""
    created = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        for folder in created:
            with suppress(OSError):  # another process has begun to use it
                folder.rmdir()


def _check_scratch() -> Check:
    remedy = "Let TMPDIR name a folder on a larger disk."
    try:
        with scratch_directory() as folder:
            free = shutil.disk_usage(folder).free
    except OSError as error:
        return Check("temporary files", "failed", str(error), remedy)
    return _check_room("temporary files", free, SCRATCH_BYTES, remedy, tempfile.gettempdir())


def _check_room(what: str, free_bytes: int, need_bytes: int, remedy: str, place: str = "") -> Check:
    """Compare the free space with what a first live run of all providers may need."""
    detail = f"{_gigabytes(free_bytes)} free" + (f" in {place}" if place else "")
    if free_bytes >= need_bytes:
        return Check(what, "ok", detail)
    detail += f"; a first live run of all providers may need {_gigabytes(need_bytes)}"
    return Check(what, "failed" if free_bytes < MIN_BYTES else "absent", detail, remedy)


def _gigabytes(size: int) -> str:
    decimals = 1 if size < 10_000_000_000 else 0
    return f"{size / 1e9:,.{decimals}f} GB"


def _check_provider(provider: Provider, common: Settings) -> Iterator[Check]:
    try:
        settings = provider.settings(common.model_copy(update={"attempts": 1}))
        http = Http(settings)
    except HwpricesError as error:
        yield Check("settings", "failed", error.message, error.remedy)
        return
    yield from _check_endpoints(settings)
    with scratch_directory() as folder:
        context = Context(settings, Landing(Store(folder)), http, http.now)
        try:
            yield from _check_account(provider, context)
        except HwpricesError as error:
            yield Check("account", "failed", error.message, error.remedy)
        finally:
            http.close()


def _check_account(provider: Provider, context: Context) -> Iterator[Check]:
    checks = provider.check_access(context)
    first = next(checks, None)
    if first is None:
        yield Check("account", "ok", f"none is needed for {provider.about.without_account}")
    else:
        yield first
        yield from checks


def _check_endpoints(settings: Settings) -> Iterator[Check]:
    """Send a request to each endpoint among the provider's own settings: any response will do.

    No credential is sent, the body is not read, and redirects are not followed.
    """
    timeout = httpx.Timeout(settings.read_timeout, connect=settings.connect_timeout)
    with new_client(timeout=timeout) as client:
        for url in provider_endpoints(settings):
            yield _check_endpoint(client, url)


def _check_endpoint(client: httpx.Client, url: str) -> Check:
    host = public_url(url)
    began = time.monotonic()
    try:
        with client.stream("GET", url) as response:
            status = response.status_code
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # the last two: a redirect
        return Check(
            host,
            "failed",
            f"does not answer: {redact(f'{type(error).__name__} {error}'.strip())}",
            "Check the network, a proxy (HTTPS_PROXY), and the endpoint setting.",
        )
    milliseconds = (time.monotonic() - began) * 1000
    return Check(host, "ok", f"answers after {milliseconds:,.0f} ms (status {status})")


PREFIX = "HWPRICES_"

OTHER_VARIABLES = {
    "HWPRICES_CACHE",  # storage/scratch.py
    "HWPRICES_CACHE_GIB",
    "HWPRICES_DASK_SCHEDULER",  # flows/collect.py
    "HWPRICES_NIGHTLY",  # tests/helpers/nightly.py
    "HWPRICES_NOTIFY_URL",  # cli/servers.py
    "HWPRICES_OVERLAYS",  # cli/filters.py
    "HWPRICES_REQUIRE_SHARED",  # tests/conftest.py
    "HWPRICES_STORE_KEY_ID",  # storage/store.py
    "HWPRICES_STORE_SECRET_KEY",
    "HWPRICES_TRACEBACK",  # cli/common.py
}
"""Variables that are not fields of a settings class, and where each is read."""

_KUBERNETES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_.+)?)")
"""Variables that Kubernetes sets in every container for a service, which may be called hwprices:
https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables."""


def unknown_variables(names: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """List variables that begin with HWPRICES_ but are not settings, each with a remedy.

    ``names`` are the variables that are set, by default those of the environment.
    """
    settings = [*describe()]
    for provider in providers.names():
        settings += providers.get(provider).own_settings
    known = OTHER_VARIABLES | {name for name, _, _ in settings}
    present = set(os.environ if names is None else names)
    return [
        (name, _remedy(name, sorted(known)))
        for name in sorted(present - known)
        if name.startswith(PREFIX) and not _KUBERNETES.fullmatch(name)
    ]


def _remedy(name: str, known: list[str]) -> str:
    word, words = name.removeprefix(PREFIX), [setting.removeprefix(PREFIX) for setting in known]
    if alike := difflib.get_close_matches(word, words, n=1, cutoff=providers.ALIKE):
        return f"Did you mean {PREFIX}{alike[0]}?"
    return "hwprices admin refresh --help lists the settings."
