"""List what to fetch from Google's APIs, and land it as received.

With an API key: prices, and the bundled machine types. With a project and application default
credentials: the current machine types, zones, regions, accelerator and TPU types.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from hwprices.errors import HwpricesError
from hwprices.landing.pages import Page, Unit, land_pages
from hwprices.providers import Check, Context, SkippedError, gcp
from hwprices.providers.gcp import Settings
from hwprices.providers.gcp.google_apis import PageCall, ReceivedPage, connect, has_credentials

COMPUTE_ENGINE = "services/6F81-5844-456A"
"""Cloud Billing's id of Compute Engine,
https://cloud.google.com/billing/docs/how-to/get-pricing-information-api."""

CLOUD_TPU = "services/E000-3F24-B8AA"
"""Cloud Billing's id of Cloud TPU, which has the SKUs of TPU v2 to v4."""

VERTEX_AI = "services/C7E2-9256-1C43"  # Cloud Billing's id of Vertex AI

CATALOGS = {gcp.SKUS: COMPUTE_ENGINE, gcp.TPU_SKUS: CLOUD_TPU, gcp.VERTEX_SKUS: VERTEX_AI}
"""Kind of unit → the service whose SKUs it has."""

SKU_PAGE_SIZE = 5000
"""The limit of skus.list:
https://cloud.google.com/billing/docs/reference/rest/v1/services.skus/list."""

COMPUTE_PAGE_SIZE = 500
"""The limit of the Compute API:
https://cloud.google.com/compute/docs/reference/rest/v1/machineTypes/aggregatedList."""


SPAN = {"start": "from", "end": "until"}
"""Parameter of ListSkusRequest → parameter of a unit, for past prices."""

ACCOUNT_KINDS = tuple(kind for kind in gcp.PROJECT_KINDS if kind != gcp.MACHINE_TYPES)
"""Kinds of unit that need a project. Without one, machine types are bundled."""


def plan(context: Context, regions: Sequence[str] | None) -> list[Unit]:
    """List the units to fetch.

    Google's lists cannot be narrowed: ``regions`` goes into the units' params, for normalise.

    Raises:
        SkippedError: neither an API key nor other credentials are configured.
    """
    check_configured(context.settings)
    params = {"regions": ",".join(sorted(regions))} if regions else {}
    has_project = bool(context.settings.gcp_project)
    machine_kinds = gcp.PROJECT_KINDS if has_project else (gcp.MACHINE_TYPES,)
    return [Unit("gcp", kind, params=params) for kind in (*CATALOGS, *machine_kinds)]


def check_configured(settings: Settings) -> None:
    """Check that credentials for the billing catalog are configured, right or wrong.

    Raises:
        SkippedError: none are configured.
    """
    if not has_credentials(settings.gcp_billing_url, settings.gcp_api_key):
        raise SkippedError(
            "gcp: no credentials for Google's prices",
            "Set HWPRICES_GCP_API_KEY, or run: gcloud auth application-default login.",
        )


def units_at_once(_settings: Settings) -> int:
    """Limit concurrent fetches.

    The catalog allows 300 requests a minute (https://cloud.google.com/billing/quotas); a run makes
    about twenty.
    """
    return 2


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land the pages of one unit after the last one has arrived.

    Raises:
        FetchError: credentials are missing, or a page is unavailable after all tries; names the
            endpoint, never the key.
        HwpricesError: the kind is unknown, or the bundled machine types cannot be read.
    """
    if unit.kind == gcp.MACHINE_TYPES and not context.settings.gcp_project:
        return _land_bundled(context, unit)
    fetchers: dict[str, Callable[[Context, Unit], list[Page]]] = {
        **dict.fromkeys(CATALOGS, _fetch_skus),
        gcp.TPU_TYPES: _fetch_tpu_types,
        gcp.REGIONS: _fetch_compute_list,
        gcp.ZONES: _fetch_compute_list,
        gcp.MACHINE_TYPES: _fetch_compute_list,
        gcp.ACCELERATOR_TYPES: _fetch_compute_list,
    }
    if unit.kind not in fetchers:
        raise HwpricesError(
            f"gcp has no kind of page {unit.kind!r}", f"There are: {', '.join(fetchers)}."
        )
    return fetchers[unit.kind](context, unit)


def _fetch_skus(context: Context, unit: Unit) -> list[Page]:
    from google.cloud import billing_v1

    settings: Settings = context.settings
    client = connect(
        billing_v1.CloudCatalogClient, context, settings.gcp_billing_url, key=settings.gcp_api_key
    )
    span = {f"{name}_time": unit.params[key] for name, key in SPAN.items() if key in unit.params}

    def call(api: Any, token: str, timeout: float) -> str:
        request = billing_v1.ListSkusRequest(
            parent=CATALOGS[unit.kind],
            currency_code="USD",
            page_size=SKU_PAGE_SIZE,
            page_token=token,
            **span,
        )
        return str(api.list_skus(request=request, retry=None, timeout=timeout).next_page_token)

    return _land(context, unit, client.all_pages(call, "skus"))


def _fetch_compute_list(context: Context, unit: Unit) -> list[Page]:
    from google.cloud import compute_v1 as compute

    settings: Settings = context.settings
    client_class, request_class, method = {
        gcp.REGIONS: (compute.RegionsClient, compute.ListRegionsRequest, "list"),
        gcp.ZONES: (compute.ZonesClient, compute.ListZonesRequest, "list"),
        gcp.MACHINE_TYPES: (
            compute.MachineTypesClient,
            compute.AggregatedListMachineTypesRequest,
            "aggregated_list",
        ),
        gcp.ACCELERATOR_TYPES: (
            compute.AcceleratorTypesClient,
            compute.AggregatedListAcceleratorTypesRequest,
            "aggregated_list",
        ),
    }[unit.kind]
    client = connect(client_class, context, settings.gcp_compute_url)

    def call(api: Any, token: str, timeout: float) -> str:
        request = request_class(
            project=settings.gcp_project, max_results=COMPUTE_PAGE_SIZE, page_token=token
        )
        listing = getattr(api, method)(request=request, retry=None, timeout=timeout)
        return str(listing.next_page_token)

    return _land(context, unit, client.all_pages(call, "items"))


def _fetch_tpu_types(context: Context, unit: Unit) -> list[Page]:
    """Land the acceleratorTypes of every location of the project."""
    from google.cloud import tpu_v2
    from google.cloud.location import locations_pb2

    settings: Settings = context.settings
    parent = f"projects/{settings.gcp_project}"
    client = connect(tpu_v2.TpuClient, context, settings.gcp_tpu_url)
    locations: set[str] = set()

    def list_locations(api: Any, token: str, timeout: float) -> str:
        request = locations_pb2.ListLocationsRequest(name=parent, page_token=token)
        listing = api.list_locations(request=request, retry=None, timeout=timeout)
        locations.update(location.location_id for location in listing.locations)
        return str(listing.next_page_token)

    def list_types(location: str, api: Any, token: str, timeout: float) -> str:
        request = tpu_v2.ListAcceleratorTypesRequest(
            parent=f"{parent}/locations/{location}", page_token=token
        )
        listing = api.list_accelerator_types(request=request, retry=None, timeout=timeout)
        return str(listing.next_page_token)

    client.all_pages(list_locations, "locations")
    pages: list[Page] = []
    for location in sorted(locations):
        call: PageCall = partial(list_types, location)
        listed = client.all_pages(call, "acceleratorTypes")
        pages += _land(context, unit, listed, {"location": location})
    return pages


def _land(
    context: Context,
    unit: Unit,
    received: Sequence[ReceivedPage],
    params: Mapping[str, str] | None = None,
) -> list[Page]:
    now = context.now()
    all_params = {**unit.params, **(params or {})}
    return [
        context.landing.land_bytes(
            unit, page.body, url=page.url, retrieved_at=now, params=all_params
        )
        for page in received
    ]


def _land_bundled(context: Context, unit: Unit) -> list[Page]:
    """Land the bundled pages of a unit, with the date they were collected."""
    pages = land_pages(context.landing, unit)
    if not pages:
        raise HwpricesError(
            "the bundled GCP machine table is missing",
            "Reinstall hwprices, or set HWPRICES_GCP_PROJECT to list them from Google.",
        )
    return pages


def check_access(context: Context) -> Iterator[Check]:
    """Check the credentials for the billing catalog, and the permissions in the project.

    Reads Cloud TPU's SKUs in the catalog, and the project's zones. Without the catalog, no price is
    collected.
    """
    settings: Settings = context.settings
    try:
        check_configured(settings)
    except SkippedError as skipped:
        detail = "no credentials: Google Cloud is skipped"
        yield Check("billing catalog", "absent", detail, skipped.remedy)
        return
    key = "HWPRICES_GCP_API_KEY" if settings.gcp_api_key else "application default credentials"
    problem = _problem(context, gcp.TPU_SKUS)
    yield Check(
        "billing catalog",
        "failed" if problem else "ok",
        problem.message if problem else f"read with {key}: all prices",
        problem.remedy if problem else "",
    )
    if not settings.gcp_project:
        yield Check(
            "project",
            "absent",
            "HWPRICES_GCP_PROJECT is not set: machine types and zones come from the bundled table",
            "Set it to a project with the Compute Engine API enabled, and log in with the"
            " least rights, docs/gcp-role.yaml.",
        )
        return
    problem = _problem(context, gcp.ZONES)
    yield Check(
        "project",
        "failed" if problem else "ok",
        problem.message if problem else "its lists can be read: live machine types and zones",
        problem.remedy if problem else "",
    )


def _problem(context: Context, kind: str) -> HwpricesError | None:
    try:
        fetch(context, Unit("gcp", kind))
    except HwpricesError as error:
        return error
    return None
