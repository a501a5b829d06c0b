"""Download the order catalog of Public Cloud and check that it is one.

There are no pages and no account: one request gives the whole catalog of one subsidiary, several
megabytes of JSON.
"""

import gzip
import tempfile
from pathlib import Path

from hwprices.errors import FetchError
from hwprices.landing import strict_json
from hwprices.landing.download import Downloaded, public_url
from hwprices.landing.limits import MAX_READ_BYTES
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context

PATH = "/order/catalog/public/cloud"


def land_catalog(context: Context, unit: Unit) -> Page:
    """Land the catalog of the subsidiary that the settings name.

    Raises:
        FetchError: it cannot be had, is no catalog, or is that of another subsidiary.
    """
    subsidiary = context.settings.ovh_subsidiary
    url = context.settings.ovh_api_url + PATH
    with tempfile.TemporaryDirectory(prefix="hwprices-") as folder:
        path = Path(folder) / "body"
        body = context.http.download(
            url, path, params={"ovhSubsidiary": subsidiary}, max_bytes=MAX_READ_BYTES
        )
        _check(body, subsidiary)
        return context.landing.land(unit, body, suffix="json")


def _check(body: Downloaded, subsidiary: str) -> None:
    raw = body.path.read_bytes()
    try:
        content = strict_json.loads(gzip.decompress(raw) if body.encoding == "gzip" else raw)
    except ValueError as error:
        raise _other_format(body, f"is not JSON ({error})") from None
    addons = content.get("addons") if isinstance(content, dict) else None
    if not isinstance(addons, list) or not addons:
        raise _other_format(body, "has no list of addons")
    locale = content.get("locale")
    named = locale.get("subsidiary") if isinstance(locale, dict) else None
    if named != subsidiary:
        raise _other_format(body, f"is the catalog of {str(named)[:20]}, not of {subsidiary}")


def _other_format(body: Downloaded, problem: str) -> FetchError:
    return FetchError(
        f"{public_url(body.url)} {problem}",
        "The format has changed, or HWPRICES_OVH_API_URL and HWPRICES_OVH_SUBSIDIARY do not fit.",
    )
