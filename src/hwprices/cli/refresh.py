"""The command ``hwprices admin refresh``: run the flow here, show its progress and its result.

Prefect takes seconds to import, and reads its settings on import. It is imported only after the
flags are checked, its environment is set and a message announces the wait.
"""

import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from types import FrameType
from typing import TYPE_CHECKING, NoReturn, cast

import typer
from rich.console import Console
from rich.text import Text

from hwprices import flows
from hwprices.flows import prefect_server

# isort: split
# The imports above set environment variables that polars reads on import.
from hwprices import collect, providers
from hwprices.cli.common import call, described, print_line
from hwprices.cli.coverage import render_new_words
from hwprices.cli.show import render_summary
from hwprices.cli.tables import listing, print_table
from hwprices.collect.preflight import unknown_variables
from hwprices.errors import HwpricesError, escaped
from hwprices.landing.download import NO_HOST, NO_HOST_REMEDY
from hwprices.read.dataset import Dataset
from hwprices.read.find import covers
from hwprices.release.manifest import ProviderStatus, Status
from hwprices.release.wording import counted
from hwprices.settings import Settings, describe, load
from hwprices.storage import layout, manifests
from hwprices.storage.store import Store

if TYPE_CHECKING:  # importing it takes as long as the rest of this module
    from hwprices.publish.release import Published

SHOWN_WORDS = 5  # New words listed per provider

OK, SOME_FAILED, NOTHING_DONE, HELD_BACK, NOT_STRICT = 0, 1, 2, 3, 4
"""Exit statuses. If several apply, the first of 2, 1, 3, 4."""


@dataclass(frozen=True)
class RefreshOutcome:
    """The result of a refresh.

    Attributes:
        published: the current release.
        failures: one line for each failure.
        entries: the status of each requested provider that has one.
        new_words: unknown words of their vendors.
        strict: whether failed units and new words change the exit status.
    """

    published: "Published | None" = None
    failures: list[str] = field(default_factory=list)
    entries: Mapping[str, ProviderStatus] = field(default_factory=dict)
    new_words: Sequence[str] = ()
    strict: bool = False

    @property
    def exit_status(self) -> int:
        """The exit status, as documented in the help of the command."""
        if self.published is None:
            return OK if self.entries and not self.failures else NOTHING_DONE
        if self.failures:
            return SOME_FAILED
        if self.published.held_back:
            return HELD_BACK
        return NOT_STRICT if self.strict and (self.incomplete or self.new_words) else OK

    @property
    def incomplete(self) -> list[str]:
        """The titles of the providers with failed or carried-over units."""
        entries = self.entries.items()
        return [e.title or name for name, e in entries if e.units.failed or e.units.carried]

    @property
    def strict_reasons(self) -> Iterator[str]:
        """The reasons for NOT_STRICT."""
        if self.incomplete:
            names = ", ".join(self.incomplete)
            yield f"--strict: units of {names} failed or were carried over: status 4"
        if self.new_words:
            count, words = counted(len(self.new_words), "new word"), listing(self.new_words)
            yield f"--strict: {count} of vendors ({words}): status 4"

    @property
    def notices(self) -> list[str]:
        """A line for each incomplete or skipped provider; failed ones are in ``failures``."""
        prefix = {"skipped": "skipped, "}
        return [
            f"{entry.title or name}: {prefix.get(entry.outcome, '')}"
            f"{entry.reason.removeprefix(f'{name}: ')}"
            for name, entry in self.entries.items()
            if entry.outcome == "skipped" or (entry.outcome == "partial" and entry.prices_fetched)
        ]


@described()
def refresh(
    source: str = "sample",
    provider: list[str] | None = None,
    region: list[str] | None = None,
    kind: list[str] | None = None,
    accept: list[str] | None = None,
    strict: bool = False,
) -> None:
    """Collect prices and machines from the clouds and publish them as a release."""
    try:
        settings = _checked_settings(source, call().root or None, provider, accept)
        print_warnings(
            f"the variable {name} is not known. {remedy}" for name, remedy in unknown_variables()
        )
        requested = provider or providers.chosen(settings)
        if region:
            print_warnings(collect.check_requested(settings, requested, region))
        outcome = _run_flow(settings, provider, region, kind, accept)
        entries = _entries(settings.root, requested)
        outcome = replace(outcome, strict=strict, entries=entries)
        published = outcome.published
        if published is None:
            print_notices(outcome.notices or ["nothing has been collected yet"])
        else:
            well = not outcome.failures
            dataset = Dataset(Store(settings.root), published.version)
            words = covers.new_words(dataset, requested).select("provider", "word").iter_rows()
            outcome = replace(outcome, new_words=[" ".join(named) for named in words])
            print_summary(dataset, published, outcome.notices, well=well)
    except HwpricesError as error:
        outcome = RefreshOutcome(failures=[str(error)])
    print_errors(outcome.failures)
    if outcome.exit_status == NOT_STRICT:
        print_errors(outcome.strict_reasons)
    raise typer.Exit(outcome.exit_status)


def _entries(root: str, requested: Collection[str]) -> dict[str, ProviderStatus]:
    """Read the status of the requested providers; a new provider may not have one yet."""
    store = Store(root)
    data = store.get(layout.STATUS)
    if data is None:
        return {}
    status = manifests.decode(data, Status, file=store.uri(layout.STATUS), remedy="Refresh again.")
    return {name: entry for name, entry in status.providers.items() if name in requested}


def _checked_settings(
    source: str, root: str | None, provider_names: list[str] | None, accept: list[str] | None
) -> Settings:
    settings = load(source=source, root=root)
    for name in provider_names or []:
        providers.get(name)
    if accept:
        from hwprices.publish.choose import check_names

        check_names(accept)
    Store(settings.root).check_writable()
    return settings


def _run_flow(
    settings: Settings,
    provider_names: list[str] | None,
    regions: list[str] | None,
    kinds: list[str] | None,
    accept: list[str] | None,
) -> RefreshOutcome:
    """Start Prefect and run the flow; failed providers are part of the outcome."""
    flows.handle_ending(_end)  # also ends the processes that this one starts
    console = Console()
    flows.set_command_defaults(settings.root)
    if "PREFECT_API_URL" not in os.environ:
        console.print(f"Starting Prefect, about {flows.startup_seconds()} s …")
    with prefect_server.running() if prefect_server.is_needed() else nullcontext() as own_server:
        with flows.held_signals():
            import httpx

            flows.check_prefect_settings()
            from hwprices.flows import progress
            from hwprices.flows.refresh import refresh as refresh_flow

        if own_server:
            own_server.wait()
            own_server.watch(partial(_end_without, own_server, console))
        prefect_server.check()
        try:
            quick = prefect_server.quick_client() if own_server else nullcontext()
            with progress.show(console), quick:
                published = refresh_flow(
                    source=settings.source,
                    root=settings.root,
                    providers=provider_names,
                    regions=regions,
                    kinds=kinds,
                    accept=accept,
                )
        except (HwpricesError, httpx.HTTPError) as error:
            return _outcome_of(error, own_server)
    return RefreshOutcome(cast("Published", published))


def _end_without(server: prefect_server.Server, console: Console) -> NoReturn:
    """Exit because the Prefect server of this process has ended.

    Prefect would retry for minutes, for each failed call and each queued event, and print the
    events. Pages, tables and releases stay complete wherever a run ends (docs/reliability.md).
    """
    if console.is_terminal:
        console.show_cursor()  # a progress bar hides it, and does not end its last line
        console.file.write("\n")
    reason = server.last_error() or "it has ended"
    error = HwpricesError(
        f"Prefect's server failed, and with it the run: {reason}", prefect_server.remedy()
    )
    sys.stdout.flush()
    print_errors([str(error)])
    sys.stderr.flush()
    os._exit(NOTHING_DONE)


def _outcome_of(error: Exception, own_server: "prefect_server.Server | None") -> RefreshOutcome:
    """Derive the outcome from what the flow raised.

    If Prefect's server could not record how the flow ended, ``error`` is that failure, and the
    flow's own error is in its context.
    """
    from hwprices.flows.publish import HeldBackError
    from hwprices.flows.refresh import ProvidersFailedError

    failures: list[str] = []
    cause: BaseException | None = error
    if not isinstance(error, HwpricesError):
        failures, cause = [str(prefect_server.error_of(error, own_server))], _cause(error)
    match cause:
        case ProvidersFailedError():
            return RefreshOutcome(cause.published, [*_in_short(cause.failed), *failures])
        case HeldBackError():
            return RefreshOutcome(cause.published, failures)
        case HwpricesError() if not failures:
            raise cause
        case None:
            return RefreshOutcome(None, failures)
    line = str(cause) if isinstance(cause, HwpricesError) else f"{type(cause).__name__}: {cause}"
    return RefreshOutcome(None, [line, *failures])


def _in_short(failed: Mapping[str, str]) -> list[str]:
    """List the lines of failed providers; those whose hosts were not found are one line."""
    lost = [name for name, line in failed.items() if line.endswith(f"{NO_HOST}. {NO_HOST_REMEDY}")]
    if len(lost) < 2:
        return list(failed.values())
    error = HwpricesError(
        f"{', '.join(lost)}: the names of their hosts are not found", NO_HOST_REMEDY
    )
    return [*(line for name, line in failed.items() if name not in lost), str(error)]


def _cause(error: BaseException) -> BaseException | None:
    """Find the flow's own error in the context of an error of Prefect's client.

    That is a HwpricesError or else the first error of the chain. Returns None if the chain begins
    with a failed connection to the server or the server's reply: then the flow raised nothing.
    """
    first = error
    while not isinstance(first, HwpricesError) and first.__context__:
        first = first.__context__
    # the context of httpx's errors is httpcore's, whose context is a socket's
    is_connection = isinstance(first, (ConnectionError, TimeoutError))
    is_client_error = type(first).__module__.startswith(("httpx", "httpcore"))
    return None if first is error or is_connection or is_client_error else first


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)  # as a shell reports a process ended by a signal


def _settings_help() -> str:
    """List the environment variables: the common ones first, then those of each provider.

    Each is a paragraph, because typer joins the lines of a paragraph.
    """
    of_providers = (providers.get(name).own_settings for name in providers.names())
    variables = [*describe(), *chain.from_iterable(of_providers)]
    lines = [
        f"{name}: {meaning}" + (f" Default {default}." if default else "")
        for name, default, meaning in variables
    ]
    ending = "AWS_ENDPOINT_URL_EC2: boto3's own, redirects EC2 calls."
    return "\n\n".join(["Environment:", *lines, ending])


SETTINGS = {"epilog": _settings_help()}


def print_summary(
    dataset: Dataset, published: "Published", notices: Sequence[str], *, well: bool
) -> None:
    """Print the current release on stdout, below what the gate held back and ``notices``.

    Each check that stopped a provider is a line on stderr, with what to do. ``well``: no provider
    failed.
    """
    held = [
        f"held back: {name} ({published.status.providers[name].reason})"
        for name in published.held_back
    ]
    held += [
        f"held: {r.provider}, {r.check}: {r.detail} (publish with --accept {r.accept})"
        for r in published.held
    ]
    lines = [*held, *notices]
    words = covers.new_words(dataset)
    if words.height:
        print_table(render_new_words(words, most=SHOWN_WORDS))
    first = None if well and not lines else lines
    print_table(render_summary(dataset, new=published.new, notices=first))
    errors = Console(stderr=True)
    for result in chain.from_iterable(published.held_back.values()):
        kept = result.provider in published.release.providers
        state = "kept as it was" if kept else "left out"
        line = (
            f"{result.provider}: {state}, {result.check}: {result.detail}"
            f" (let it through with --accept {result.accept})"
        )
        errors.print(Text(escaped(line), style="yellow"), soft_wrap=True)


def print_notices(lines: Iterable[str]) -> None:
    """Print notices on stdout, for a run without a release and so without a summary."""
    for line in lines:
        print_table(Text(escaped(line), "bold yellow"))


def print_errors(lines: Iterable[str]) -> None:
    """Print each error as one line on stderr."""
    for line in lines:
        print_line("error: ", "red", line)


def print_warnings(lines: Iterable[str]) -> None:
    """Print each warning as one line on stderr."""
    for line in lines:
        print_line("warning: ", "yellow", line)
