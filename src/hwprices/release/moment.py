"""Find the release that was in force at a time."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time

from hwprices.errors import HwpricesError
from hwprices.storage import layout

When = str | date | datetime
"""A version, a day (2026-10-01) or a time; without a time zone it is UTC."""

_FORMATS = ("%Y%m%dT%H%M%SZ", "%Y%m%dT%H%M%S.%fZ")


def version_time(version: str) -> datetime:
    """Read the time in the name of a release.

    >>> version_time("20261001T041700Z")
    datetime.datetime(2026, 10, 1, 4, 17, tzinfo=datetime.timezone.utc)
    """
    return datetime.strptime(version, _FORMATS["." in version]).replace(tzinfo=UTC)


def instant(when: When) -> datetime:
    """Turn a day or time into an instant; a day counts until its end, in UTC.

    >>> instant("2026-10-01").isoformat()
    '2026-10-01T23:59:59.999999+00:00'
    >>> instant("2026-10-01T06:00+02:00").isoformat()
    '2026-10-01T04:00:00+00:00'

    Raises:
        HwpricesError: it is no version, day or time, or in UTC it is in no year from 1 to 9999.
    """
    if isinstance(when, datetime):
        return _in_utc(when)
    if isinstance(when, date):
        return datetime.combine(when, time.max, UTC)
    try:
        if layout.is_version(when):
            return version_time(when)
        return instant(_parsed(when))
    except (ValueError, TypeError):
        raise HwpricesError(
            f"{when!a:.40} is no day, time or version",
            "Write 2026-10-01, 2026-10-01T06:00 or a version; hwprices releases lists them.",
        ) from None


def _in_utc(time: datetime) -> datetime:
    try:
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except OverflowError:
        raise HwpricesError(
            f"{time.isoformat()} is in no year from 1 to 9999 in UTC", "Write another day."
        ) from None


def _parsed(text: str) -> date | datetime:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return datetime.fromisoformat(text)


def version_at(versions: Sequence[str], when: When) -> str:
    """Name the release that was in force at a time.

    >>> version_at(["20261001T041700Z", "20261002T041700Z"], "2026-10-01")
    '20261001T041700Z'

    Raises:
        HwpricesError: no release that is kept is so old.
    """
    at = instant(when)
    older = [version for version in versions if version_time(version) <= at]
    if not older:
        oldest = f"The oldest one kept is {versions[0]}." if versions else "There is none yet."
        raise HwpricesError(
            f"no release that is kept was in force at {at:%Y-%m-%d %H:%M} UTC",
            f"{oldest} hwprices history has older prices too.",
        )
    return older[-1]
