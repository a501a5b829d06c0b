"""The gate: what must hold before a provider's new tables replace those published.

Checks compare the new tables with the last release, with the release of a month ago, and with
themselves. A check that stops a provider leaves its last good tables in place, with their age; the
other providers publish. A person who has looked and agrees lets it through by name:
``--accept aws:type_gone``. docs/gates.md lists every check.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from hwprices.publish.gate import comparisons, invariants
from hwprices.publish.gate.candidate import PRICES, Candidate, Finding, PriceFile, Tables
from hwprices.publish.gate.invariants import Exceptions
from hwprices.publish.gate.thresholds import LEAST_EXCEPTIONS, LIMITS
from hwprices.release.manifest import CheckResult, Outcome

__all__ = ["PRICES", "Candidate", "History", "PriceFile", "Tables", "check", "stopped"]

History = Mapping[str, Sequence[float]]
"""Check's name to the values that the provider's last releases showed."""


def check(
    new: Candidate,
    old: Candidate | None,
    accepted: Collection[str] = (),
    *,
    month_ago: Candidate | None = None,
    history: History | None = None,
) -> list[CheckResult]:
    """Run all checks of one provider.

    ``old`` is its tables in the last release, None for a first one. ``month_ago`` are its tables in
    a release about a month old, where there is one. ``history`` sets the limits. ``accepted`` names
    checks (``aws:type_gone``, ``aws:*``) that somebody has looked at and lets through.
    """
    limits = {
        name: limit.for_history((history or {}).get(name, ())) for name, limit in LIMITS.items()
    }
    comparable = old is not None and old.origin == new.origin
    findings = _invariants(new, old if comparable else None, limits)
    if old is None:
        findings["baseline"] = Finding()
    elif not comparable:
        findings |= _origins(new)
    else:
        compared = comparisons.comparison(new, old, limits)
        findings |= {name: look(compared) for name, look in comparisons.COMPARISONS.items()}
        if month_ago is not None and month_ago.origin == new.origin:
            with_month_ago = (
                compared if month_ago is old else comparisons.comparison(new, month_ago, limits)
            )
            drift = replace(with_month_ago, last=compared)
            findings |= {name: look(drift) for name, look in comparisons.DRIFT.items()}
    return [_result(new.provider, name, finding, accepted) for name, finding in findings.items()]


def stopped(results: Collection[CheckResult]) -> list[CheckResult]:
    """List the results that keep the provider from being replaced."""
    return [r for r in results if r.outcome == "stop"]


def _result(provider: str, name: str, finding: Finding, accepted: Collection[str]) -> CheckResult:
    outcome: Outcome = "pass"
    if finding.detail:
        let_through = f"{provider}:{name}" in accepted or f"{provider}:*" in accepted
        stopping: Outcome = "accepted" if let_through else "stop"
        outcome = stopping if finding.stops else "warn"
    return CheckResult(
        provider, name, outcome, finding.detail or "holds", finding.value, finding.limit
    )


def _invariants(
    new: Candidate, old: Candidate | None, limits: Mapping[str, float]
) -> dict[str, Finding]:
    """Report exceptions; stop where they are many more than in the last release."""
    after = invariants.exceptions(new, invariants.INVARIANTS)
    # The old release is read only for checks that have exceptions in the new one.
    may_have_grown = [
        name
        for name, exceptions in after.items()
        if exceptions.count and name not in invariants.NEVER
    ]
    before = invariants.exceptions(old, may_have_grown) if old is not None else {}
    return {
        name: _invariant(name, exceptions, old, before.get(name), limits)
        for name, exceptions in after.items()
    }


def _invariant(
    name: str,
    exceptions: Exceptions,
    old: Candidate | None,
    before: Exceptions | None,
    limits: Mapping[str, float],
) -> Finding:
    """Judge the exceptions of one check; ``before`` are those of the last release, if looked at."""
    if name in invariants.NEVER:
        return Finding(exceptions.detail, exceptions.share, 0.0)
    growth, limit = exceptions.share - (before.share if before else 0.0), limits[name]
    stops = old is not None and growth > limit and exceptions.count >= LEAST_EXCEPTIONS
    return Finding(exceptions.detail, max(0.0, growth), limit, stops=stops)


def _origins(new: Candidate) -> dict[str, Finding]:
    """Stop sample figures that would replace live ones; live ones may replace the sample's.

    Those published are of the other origin.
    """
    if new.origin == "live":
        return {"sample_over_live": Finding()}
    words = "the published figures are live and would be replaced by the sample: use another --root"
    return {"sample_over_live": Finding(words)}
