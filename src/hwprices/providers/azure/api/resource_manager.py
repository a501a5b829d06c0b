"""Azure Resource Manager over the network, with Microsoft's SDK: sizes of a region, and locations.

The SDK signs, retries and follows pages; what is landed is the bodies as they came. Sources:
https://learn.microsoft.com/rest/api/compute/resource-skus/list and
https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations.
"""

import json
from collections.abc import Callable, Iterable
from typing import Any

from hwprices.landing.download import FetchError, check_endpoint, check_same_host, public_url
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, SkippedError
from hwprices.providers.azure.inventory.size_names import is_public_location
from hwprices.providers.azure.settings import Settings
from hwprices.settings import is_loopback

MOST_PAGES = 500  # a region's sizes are one page today

SUBSCRIPTION = "{subscriptionId}"
"""Stands for the subscription's id in what is landed: the id is nobody's business."""


def fetch_sizes(context: Context, unit: Unit) -> list[Page]:
    """Land the resource SKUs of one region.

    Raises:
        FetchError: the account may not list them, or the list cannot be had whole.
        SkippedError: the region offers the account nothing.
    """

    def ask(options: dict[str, Any]) -> Iterable[object]:
        from azure.mgmt.compute import ComputeManagementClient

        with ComputeManagementClient(
            subscription_id=_subscription(context.settings), **options
        ) as client:
            yield from client.resource_skus.list(filter=f"location eq '{unit.region}'")

    bodies = _bodies(context.settings, ask)
    if not any(json.loads(body)["value"] for body in bodies):
        raise SkippedError(f"Azure lists no sizes in {unit.region} for this subscription")
    url = f"{context.settings.azure_arm_url}/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/skus"
    return [_land(context, unit, body, url) for body in bodies]


def fetch_locations(context: Context, unit: Unit) -> list[Page]:
    """Land the subscription's locations. Raises FetchError."""
    url = f"{context.settings.azure_arm_url}/subscriptions/{SUBSCRIPTION}/locations"
    return [_land(context, unit, body, url) for body in _locations(context.settings)]


def regions(settings: Settings) -> list[str]:
    """Public regions of the subscription, sorted. Raises FetchError."""
    values = [value for body in _locations(settings) for value in json.loads(body)["value"]]
    return sorted({v["name"].lower() for v in values if is_public_location(v)})


def _locations(settings: Settings) -> list[bytes]:
    def ask(options: dict[str, Any]) -> Iterable[object]:
        from azure.mgmt.resource.subscriptions import SubscriptionClient

        with SubscriptionClient(**options) as client:
            yield from client.subscriptions.list_locations(_subscription(settings))

    return _bodies(settings, ask)


def _bodies(settings: Settings, ask: Callable[[dict[str, Any]], Iterable[object]]) -> list[bytes]:
    """Bodies of all pages of one list, in order. ``ask`` gets the client's options and yields the list's elements.

    Raises:
        FetchError: after the SDK's retries; names the endpoint and the failure, no credential.
    """
    from azure.core.exceptions import AzureError

    bodies: list[bytes] = []
    asked: set[str] = set()

    def keep(response: Any) -> None:
        if response.http_response.status_code == 200:
            bodies.append(bytes(response.http_response.content))

    try:
        count = sum(1 for _ in ask(_options(settings, keep, asked)))
    except (AzureError, ValueError) as error:
        raise FetchError(
            f"{public_url(settings.azure_arm_url)} failed: {_words(error, settings)}",
            "Check the account (az login), the subscription and its rights.",
        ) from None
    held = sum(len(_values(body)) for body in bodies)
    if held != count or len(bodies) != len(asked):
        raise FetchError(
            f"{public_url(settings.azure_arm_url)} sent {held} elements on {len(bodies)} pages, {count} were read",
            "Try again later.",
        )
    return bodies


def _options(settings: Settings, keep: Callable[[Any], None], asked: set[str]) -> dict[str, Any]:
    """Options of an SDK client: endpoint, credential, retries, and policies that look at every request and answer."""
    from azure.core.pipeline.policies import CustomHookPolicy, SansIOHTTPPolicy

    url = settings.azure_arm_url

    class _Guard(SansIOHTTPPolicy):  # type: ignore[type-arg]
        """Runs once a page, before the credential is attached."""

        def on_request(self, request: Any) -> None:
            check_same_host(url, request.http_request.url)
            if request.http_request.url in asked or len(asked) == MOST_PAGES:
                raise FetchError(
                    f"the pages of {public_url(url)} run in a circle", "Try again later."
                )
            asked.add(request.http_request.url)

    class _Keep(CustomHookPolicy):  # type: ignore[type-arg]
        def on_response(self, request: Any, response: Any) -> None:
            keep(response)

    timeouts = {
        "connection_timeout": settings.connect_timeout,
        "read_timeout": settings.read_timeout,
    }
    return {
        "base_url": url,
        "credential_scopes": [f"{url}/.default"],
        "per_call_policies": [_Guard()],
        "custom_hook_policy": _Keep(),
        "retry_total": settings.attempts - 1,
        "permit_redirects": False,
        **timeouts,
        **_authentication(url),
    }


def _authentication(url: str) -> dict[str, Any]:
    """DefaultAzureCredential over https. A server on this machine over plain http is asked without any credential."""
    if url.startswith("http://") and is_loopback(url):
        from azure.core.pipeline.policies import SansIOHTTPPolicy

        return {"credential": _Nobody(), "authentication_policy": SansIOHTTPPolicy()}
    check_endpoint(url, credentials=True)
    from azure.identity import DefaultAzureCredential

    return {"credential": DefaultAzureCredential()}


class _Nobody:
    """The SDK wants an object; it is never asked for a token."""

    def get_token(self, *_: str, **__: Any) -> Any:
        raise FetchError("a token was asked for where none may be sent")


def _values(body: bytes) -> list[Any]:
    values = json.loads(body).get("value")
    if not isinstance(values, list):
        raise FetchError("Azure Resource Manager answered no list", "Try again later.")
    return values


def _land(context: Context, unit: Unit, body: bytes, url: str) -> Page:
    return context.landing.land_bytes(
        unit, body, url=url, retrieved_at=context.now(), suffix="json"
    )


def _subscription(settings: Settings) -> str:
    if not settings.azure_subscription_id:
        raise FetchError("no Azure subscription is set", "Set AZURE_SUBSCRIPTION_ID.")
    return settings.azure_subscription_id


def _words(error: Exception, settings: Settings) -> str:
    """First line of an error, without the subscription's id; the SDK's go on with the response or with each credential tried."""
    first = str(error).strip().split("\n")[0][:200]
    return f"{type(error).__name__} {first}".replace(
        settings.azure_subscription_id or "\0", SUBSCRIPTION
    )
