"""Collect one provider: plan its units, fetch or replay them, and record the run.

The bundled sample is replayed by copying its pages into the landing root, so that everything after
this step is the same for sample and live data.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from datetime import datetime
from types import TracebackType
from typing import Self

from hwprices import providers
from hwprices.collect import record
from hwprices.collect.replay import Sample
from hwprices.errors import HwpricesError
from hwprices.landing.download import Http
from hwprices.landing.pages import Landing, Run, Unit, UnitResult, check_name
from hwprices.providers import Context, SkippedError
from hwprices.settings import Settings
from hwprices.storage import layout

StopAfter = Callable[[float, str], AbstractContextManager[None]]


def _no_limit(_seconds: float, _name: str) -> AbstractContextManager[None]:
    return nullcontext()


class Collector:
    """Fetches the units of one provider. Owns the HTTP client, so close it, or use ``with``.

    ``settings`` are the common ones or the provider's own; what is missing is read from the
    environment. ``sleep`` waits so many seconds between two tries; an argument for the tests.

    Raises:
        HwpricesError: there is no such provider, or one of its settings does not fit.
    """

    def __init__(
        self, provider: str, settings: Settings, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.provider = providers.get(provider)
        self.settings = self.provider.settings(settings)
        self.landing = Landing(layout.landing_root(self.settings.root))
        self._sample = Sample(self.settings.sample, provider)
        self._http = Http(self.settings, sleep=sleep)
        self._context = Context(self.settings, self.landing, self._http, self._http.now)
        self._slots = threading.BoundedSemaphore(self.provider.units_at_once(self.settings))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["Collector"], tuple[str, Settings]]:
        """Pickle as the name and the common settings, for a task on another machine.

        The provider's own settings, with keys in them, are read again from the environment there.
        """
        fields = Settings.model_fields
        common = Settings(**{name: getattr(self.settings, name) for name in fields})
        return Collector, (self.provider.name, common)

    def close(self) -> None:
        """Close the HTTP client's connections."""
        self._http.close()

    def plan(
        self, regions: Sequence[str] | None = None, kinds: Sequence[str] | None = None
    ) -> list[Unit]:
        """List the units to fetch, or with source=sample those that the sample holds.

        Raises:
            SkippedError: all kinds requested need an account, and there is none.
            HwpricesError: an index cannot be had, or nothing fits the regions and kinds requested.
        """
        name = self.provider.name
        if self.settings.source == "sample":
            units = self._sample.plan(regions)
        else:
            units = self.provider.plan(self._context_of(f"the plan of {name}"), regions)
        chosen = [unit for unit in units if kinds is None or unit.kind in kinds]
        if not chosen and kinds and self._needs_account(units, kinds):
            raise SkippedError(
                f"{name}: nothing to collect, no credentials for {', '.join(kinds)}",
                f"hwprices preflight --provider {name} says what is missing.",
            )
        if not chosen:
            raise HwpricesError(
                f"{name}: nothing to collect for regions {list(regions or ['all'])} and kinds"
                f" {list(kinds or ['all'])}",
                "Check the spelling.",
            )
        return chosen

    def _needs_account(self, units: Sequence[Unit], kinds: Sequence[str]) -> bool:
        """Tell whether the provider plans these kinds with an account only, and there is none.

        With an account it would have planned some of its kinds, if not for the regions requested.
        """
        of_account = set(self.provider.account_kinds)
        has_account = any(unit.kind in of_account for unit in units)
        return self.settings.source == "live" and not has_account and set(kinds) <= of_account

    def stuck_after(self) -> float:
        """Return the seconds after which a unit's deadline has passed without being noticed."""
        return self.settings.unit_deadline + self.settings.read_timeout

    def fetch(self, unit: Unit, stop_after: StopAfter = _no_limit) -> UnitResult:
        """Fetch and land one unit.

        A failure comes back as a result, so that it fails the unit and not the run.

        Args:
            unit: what to fetch.
            stop_after: makes a context that interrupts what is stuck, and raises a FetchError; it
                is given the seconds and the unit's name. Without it nothing is interrupted.
        """
        try:
            check_name(unit)
            if self.settings.source == "sample":
                return self._sample.replay(unit, self.landing)
            with self._slots, stop_after(self.stuck_after(), unit.name):
                context = self._context_of(unit.name)
                return UnitResult(unit, "ok", tuple(self.provider.fetch(context, unit)))
        except SkippedError as skipped:
            return UnitResult(unit, "skipped", reason=str(skipped), cause=skipped.cause)
        except HwpricesError as error:
            return UnitResult(unit, "failed", reason=str(error))

    def _context_of(self, name: str) -> Context:
        """Make the context of one unit, with limits (deadline, bytes, stalls) that begin now."""
        return replace(self._context, http=self._http.for_unit(name))

    def record(
        self,
        started_at: datetime,
        results: Sequence[UnitResult],
        *,
        narrowed: bool = False,
        kinds: Sequence[str] | None = None,
    ) -> Run:
        """Write the run's manifest. See ``record.record``."""
        return record.record(
            self.landing,
            self.provider.name,
            self.settings.source,
            started_at,
            results,
            narrowed=narrowed,
            kinds=kinds,
        )
