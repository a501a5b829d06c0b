"""Download the order catalog of Public Cloud and check that it is one.

There are no pages and no account: one request gives the whole catalog of one subsidiary, several
megabytes of JSON.
"""

from pathlib import Path

from hwprices.landing.download import Downloaded
from hwprices.landing.json_bodies import other_format, read_object
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.landing.secrets import redact
from hwprices.providers import Context
from hwprices.storage.scratch import scratch_directory

PATH = "/order/catalog/public/cloud"


def land_catalog(context: Context, unit: Unit) -> Page:
    """Land the catalog of the subsidiary that the settings name.

    Raises:
        FetchError: it cannot be had, is no catalog, or is that of another subsidiary.
    """
    subsidiary = context.settings.ovh_subsidiary
    url = context.settings.ovh_api_url + PATH
    with scratch_directory() as folder:
        path = Path(folder) / "body"
        body = context.http.download(
            url, path, params={"ovhSubsidiary": subsidiary}, max_bytes=MAX_READ_BYTES
        )
        _check(body, subsidiary)
        return context.landing.land(unit, body, suffix="json")


def _check(body: Downloaded, subsidiary: str) -> None:
    locale = read_object(body, "addons").get("locale")
    named = locale.get("subsidiary") if isinstance(locale, dict) else None
    if named != subsidiary:
        raise other_format(
            body, f"is the catalog of {redact(str(named))[:20]}, not of {subsidiary}"
        )
