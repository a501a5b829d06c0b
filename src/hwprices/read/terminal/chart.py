"""Draw how a value moved in time, in one line of block characters."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

BARS = "▁▂▃▄▅▆▇█"
NOTHING = "·"


@dataclass(frozen=True)
class Span:
    """A value, None if unknown, and the time in which it held; ``end`` is None while it does."""

    start: datetime
    end: datetime | None
    value: Decimal | None


def steps(spans: Iterable[Span], begin: datetime, end: datetime, width: int) -> str:
    """Draw spans as a line of ``width`` characters from ``begin`` to ``end``.

    Each character is the value that held last in its piece of time, a dot where there was none. The
    lowest value has the lowest bar, unless all are the same.

    >>> from datetime import UTC
    >>> day = [datetime(2026, 10, number, tzinfo=UTC) for number in range(1, 5)]
    >>> spans = [Span(day[0], day[2], Decimal(4)), Span(day[2], None, Decimal(2))]
    >>> steps(spans, day[0], day[3], 6)
    '████▁▁'
    """
    listed = sorted(spans, key=lambda span: span.start)
    values = [span.value for span in listed if span.value is not None]
    piece = (end - begin) / max(width, 1)
    line = ""
    for index in range(width):
        until = begin + piece * (index + 1)
        at = [span for span in listed if span.start < until and _lasts(span, begin + piece * index)]
        line += _bar(
            at[-1].value if at else None, min(values, default=None), max(values, default=None)
        )
    return line


def _lasts(span: Span, begin: datetime) -> bool:
    return span.end is None or span.end > begin


def _bar(value: Decimal | None, low: Decimal | None, high: Decimal | None) -> str:
    if value is None or low is None or high is None:
        return NOTHING
    if low == high:
        return BARS[len(BARS) // 2]
    return BARS[round((value - low) / (high - low) * (len(BARS) - 1))]
