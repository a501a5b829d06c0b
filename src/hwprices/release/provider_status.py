"""What ``status.json`` holds: how each provider fares. Written by publish, read by read.

Times are ISO 8601 strings in UTC. Ages are not written: the reader knows what time it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from hwprices.release.manifest import Count, Trouble, require_time
from hwprices.storage.manifests import Origin

ProviderOutcome = Literal["published", "unchanged", "partial", "held_back", "skipped", "failed"]
"""How the last try ended.

published: its tables are in a release that was made of them. unchanged: they are the same as those
published before. partial: they are published, but some units failed or have older pages. held_back:
the gate stopped them. skipped: its credentials are not configured. failed: there was nothing to
stage.
"""


@dataclass(frozen=True)
class UnitCounts:
    """The units of a provider's last try. ``carried`` failed and have older pages instead.

    ``skipped`` have nothing to fetch; ``not_requested`` were left out by a narrowed run.
    """

    fetched: Count = 0
    failed: Count = 0
    carried: Count = 0
    skipped: Count = 0
    not_requested: Count = 0


@dataclass(frozen=True, kw_only=True)
class ProviderStatus:
    """How one provider fares.

    Attributes:
        title: its name for people.
        outcome: how the last try ended.
        reason: why it failed, is partial, skipped or held back, in one line; otherwise empty.
        checks: the gate's checks that stopped it.
        last_try: when the last collection began.
        last_success: when the last collection began that fetched all its units and came through the
            gate; None if none has.
        complete_since: the age of the tables: when the earliest of the units that they are made of
            was last fetched. Older than ``last_success`` after a run of some kinds or regions.
        sheet_seen_on: of a price sheet in force, the oldest day on which a person read the vendor's
            page; None for the others.
        origin: whether the last try was of the sample or live.
        run_id: the run whose tables were put to the gate last.
        release: the version in force that has its tables; None if none has.
        units: the units of the last try.
        troubles: those that failed, were carried over or skipped, with the reason.
        new_words: how many words of the vendor are not known yet, in the release in force.
        prices_fetched: False if the last try asked for prices and got none.
    """

    title: str = ""
    outcome: ProviderOutcome
    reason: str = ""
    checks: tuple[str, ...] = ()
    last_try: str | None = None
    last_success: str | None = None
    complete_since: str | None = None
    sheet_seen_on: str | None = None
    origin: Origin | None = None
    run_id: str = ""
    release: str | None = None
    units: UnitCounts = field(default_factory=UnitCounts)
    troubles: tuple[Trouble, ...] = ()
    prices_fetched: bool = True
    new_words: Count = 0

    def __post_init__(self) -> None:
        """Refuse times that are none."""
        for name in ("last_try", "last_success", "complete_since", "sheet_seen_on"):
            require_time(name, getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Status:
    """``status.json``: every provider that was ever collected or published here."""

    updated_at: str
    providers: Mapping[str, ProviderStatus] = field(default_factory=dict)
