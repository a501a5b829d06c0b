"""Check the names given to ``--accept``: a misspelt one would otherwise do nothing, in silence."""

from collections.abc import Collection

from hwprices import providers
from hwprices.errors import HwpricesError
from hwprices.publish.gate.comparisons import COMPARISONS, DRIFT
from hwprices.publish.gate.invariants import INVARIANTS

BESIDE_LIVE = "sample_beside_live"
"""The one check that looks at more than one provider. See ``choose``."""

CHECKS = tuple(sorted({*COMPARISONS, *DRIFT, *INVARIANTS, "sample_over_live", BESIDE_LIVE}))
"""Every check that can stop a provider."""

EXAMPLE = "Write provider:check, such as aws:type_gone, or aws:* for all of its checks."


def check_names(accepted: Collection[str]) -> None:
    """Check that each name is a provider and one of the gate's checks.

    Raises:
        HwpricesError: one is not; the line lists those there are.
    """
    for name in accepted:
        provider, colon, check = name.partition(":")
        if not colon:
            raise HwpricesError(f"--accept {name}: it names no check", EXAMPLE)
        if provider not in providers.names():
            names = ", ".join(providers.names())
            raise HwpricesError(
                f"--accept {name}: no provider {provider!r}", f"There are: {names}."
            )
        if check not in (*CHECKS, "*"):
            names = ", ".join(CHECKS)
            raise HwpricesError(
                f"--accept {name}: the gate has no check {check!r}", f"It has: {names}."
            )
