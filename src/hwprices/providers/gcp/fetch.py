"""Google's APIs → landed pages. No thinking: bodies are kept as they came, read page by page to the last by Google's own clients.

With an API key alone: prices, and the bundled machine table. With a project and application default credentials: machine types,
zones, regions, accelerator and TPU types as they are today.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.landing.download import FetchError
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context
from hwprices.providers.gcp.api.google_apis import Wire, connect
from hwprices.providers.gcp.settings import Settings
from hwprices.specs import sheet_directory

COMPUTE_ENGINE = "services/6F81-5844-456A"
"""Cloud Billing's id of Compute Engine, https://cloud.google.com/billing/docs/how-to/get-pricing-information-api."""

CLOUD_TPU = "services/E000-3F24-B8AA"  # TPU v2 to v4; newer generations are SKUs of Compute Engine

PAGE_SIZE = 5000  # the most that skus.list gives at once
COMPUTE_PAGE_SIZE = 500  # the most that the Compute API gives at once

LIVE_KINDS = ("regions", "zones", "machine-types", "accelerator-types", "tpu-types")

BUNDLED = re.compile(r"gcp_machine_types_(\d{4}-\d{2}-\d{2})\.json\.gz")


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """The catalog comes as a whole; ``regions`` goes along for the normaliser, which narrows by it."""
    params = {"regions": ",".join(sorted(regions))} if regions else {}
    kinds = (
        "skus",
        "tpu-skus",
        *(LIVE_KINDS if context.settings.gcp_project else ("machine-types",)),
    )
    return [Unit("gcp", kind, params=params) for kind in kinds]


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the pages of one unit.

    Raises:
        FetchError: no credentials, or a page could not be had after all tries; names the endpoint, never the key.
    """
    if unit.kind in ("skus", "tpu-skus"):
        return _skus(context, unit)
    if unit.kind == "machine-types" and not context.settings.gcp_project:
        return [_bundled(context, unit)]
    if unit.kind == "tpu-types":
        return _tpu_types(context, unit)
    return _compute(context, unit)


def _skus(context: Context, unit: Unit) -> list[Page]:
    from google.cloud import billing_v1

    wire = connect(
        billing_v1.CloudCatalogClient,
        context,
        context.settings.gcp_billing_url,
        key=context.settings.gcp_api_key,
    )
    parent = COMPUTE_ENGINE if unit.kind == "skus" else CLOUD_TPU

    def call(client: Any, token: str, timeout: float) -> str:
        request = billing_v1.ListSkusRequest(
            parent=parent, currency_code="USD", page_size=PAGE_SIZE, page_token=token
        )
        return str(client.list_skus(request=request, retry=None, timeout=timeout).next_page_token)

    return _all_pages(context, unit, wire, call, {})


def _compute(context: Context, unit: Unit) -> list[Page]:
    from google.cloud import compute_v1

    project = context.settings.gcp_project
    clients: dict[str, tuple[Any, Any]] = {
        "regions": (compute_v1.RegionsClient, compute_v1.ListRegionsRequest),
        "zones": (compute_v1.ZonesClient, compute_v1.ListZonesRequest),
        "machine-types": (
            compute_v1.MachineTypesClient,
            compute_v1.AggregatedListMachineTypesRequest,
        ),
        "accelerator-types": (
            compute_v1.AcceleratorTypesClient,
            compute_v1.AggregatedListAcceleratorTypesRequest,
        ),
    }
    if unit.kind not in clients:
        raise HwpricesError(
            f"gcp has no kind of page {unit.kind!r}",
            f"There are: skus, tpu-skus, {', '.join(LIVE_KINDS)}.",
        )
    client_class, request_class = clients[unit.kind]
    wire = connect(client_class, context, context.settings.gcp_compute_url)

    def call(client: Any, token: str, timeout: float) -> str:
        request = request_class(project=project, max_results=COMPUTE_PAGE_SIZE, page_token=token)
        ask = client.list if unit.kind in ("regions", "zones") else client.aggregated_list
        return str(ask(request=request, retry=None, timeout=timeout).next_page_token)

    return _all_pages(context, unit, wire, call, {})


def _tpu_types(context: Context, unit: Unit) -> list[Page]:
    """acceleratorTypes of every location that the project sees."""
    from google.cloud import tpu_v2
    from google.cloud.location import locations_pb2

    parent = f"projects/{context.settings.gcp_project}"
    wire = connect(tpu_v2.TpuClient, context, context.settings.gcp_tpu_url)
    locations: list[str] = []

    def places(client: Any, token: str, timeout: float) -> str:
        request = locations_pb2.ListLocationsRequest(name=parent, page_token=token)
        answer = client.list_locations(request=request, retry=None, timeout=timeout)
        locations.extend(place.location_id for place in answer.locations)
        return str(answer.next_page_token)

    def types(location: str, client: Any, token: str, timeout: float) -> str:
        request = tpu_v2.ListAcceleratorTypesRequest(
            parent=f"{parent}/locations/{location}", page_token=token
        )
        return str(
            client.list_accelerator_types(
                request=request, retry=None, timeout=timeout
            ).next_page_token
        )

    _all_tokens(wire, places)
    return [
        page
        for location in sorted(set(locations))
        for page in _all_pages(
            context, unit, wire, partial(types, location), {"location": location}
        )
    ]


def _all_tokens(wire: Wire, call: Callable[[Any, str, float], str]) -> list[tuple[bytes, str]]:
    """Bodies of all pages with their URLs.

    Raises:
        FetchError: the pages go in a circle.
    """
    bodies, seen, token = [], {""}, ""
    while True:
        body, url, token = wire.page(call, token)
        bodies.append((body, url))
        if not token:
            return bodies
        if token in seen:
            raise FetchError(
                f"{wire.endpoint} gives the same page token twice: its list goes in a circle",
                "Try again later.",
            )
        seen.add(token)


def _all_pages(
    context: Context,
    unit: Unit,
    wire: Wire,
    call: Callable[[Any, str, float], str],
    params: dict[str, str],
) -> list[Page]:
    """Nothing is landed before the last page has come: half a list is no list."""
    bodies = _all_tokens(wire, call)
    now = context.now()
    return [
        context.landing.land_bytes(
            unit, body, url=url, retrieved_at=now, params={**unit.params, **params}
        )
        for body, url in bodies
    ]


def _bundled(context: Context, unit: Unit) -> Page:
    """The machine table that comes with the package, as of the date in its name."""
    import gzip

    for file in sheet_directory().iterdir():
        if match := BUNDLED.fullmatch(file.name):
            as_of = datetime.fromisoformat(match[1]).replace(tzinfo=UTC)
            params = {**unit.params, "source": "bundled", "as_of": match[1]}
            url = (
                f"{context.settings.gcp_compute_url}/compute/v1/projects/-/aggregated/machineTypes"
            )
            return context.landing.land_bytes(
                unit, gzip.decompress(file.read_bytes()), url=url, retrieved_at=as_of, params=params
            )
    raise HwpricesError(
        "the bundled GCP machine table is missing",
        "Reinstall hwprices, or set HWPRICES_GCP_PROJECT to ask Google.",
    )


def units_at_once(_settings: Settings) -> int:
    """How many units are fetched side by side.

    The catalog allows 300 requests a minute (https://cloud.google.com/billing/quotas); a run makes
    about twenty.
    """
    return 2
