"""Fetch sizes and locations from Azure Resource Manager with Microsoft's SDK.

The SDK signs and retries requests and follows pages; bodies are landed as received. The SDK itself
gets each page without its elements: it would make objects of all of them, which takes most of the
time and which nothing reads. Sources:
https://learn.microsoft.com/rest/api/compute/resource-skus/list and
https://learn.microsoft.com/rest/api/resources/subscriptions/list-locations.

A run logs in once for all units: a login by az starts a program that takes a second or more.
"""

import io
import logging
import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from hwprices.landing.bodies import PARSER_FAILURES, bound_requests
from hwprices.landing.download import (
    FetchError,
    check_endpoint,
    check_same_host,
    public_url,
    redact,
)
from hwprices.landing.limits import RETRIED, Limits, TryAgain, call, parse_retry_after
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, SkippedError
from hwprices.providers.azure import Settings
from hwprices.providers.azure.instance_types import SKU, Schema, read_elements
from hwprices.providers.azure.regions import LOCATION, is_public_location
from hwprices.settings import is_loopback

VALID_SECONDS = 300  # A token that expires sooner is renewed. azure-core does so too.

FAILED_SECONDS = 30
"""How long a failed login is not tried again. Otherwise each unit in turn would try all ways to log
in."""


class SharedLogin:
    """A credential of the SDK (``SupportsTokenInfo``) that caches the tokens of another one.

    ``make`` creates the other credential on first use. ``clock`` is a parameter for tests.
    """

    def __init__(self, make: Callable[[], Any], clock: Callable[[], float] = time.time) -> None:
        self._make = make
        self._clock = clock
        self._lock = threading.Lock()
        self._credential: Any = None
        self._tokens: dict[tuple[Any, ...], Any] = {}
        self._failure: Exception | None = None
        self._failed_at = 0.0

    def get_token_info(self, *scopes: str, options: Mapping[str, Any] | None = None) -> Any:
        """Return a cached token if it is valid for some minutes, else a new one.

        Raises:
            azure.core.exceptions.AzureError: the login fails, or failed a moment ago.
        """
        request = dict(options or {})
        has_claims = "claims" in request  # the SDK sends them after a token was refused
        name = (scopes, *sorted(item for item in request.items() if item[0] != "claims"))
        with self._lock:
            token = self._tokens.get(name)
            is_valid = token is not None and token.expires_on > self._clock() + VALID_SECONDS
            if is_valid and not has_claims:
                return token
            self._tokens[name] = self._new_token(scopes, request)
            return self._tokens[name]

    def _new_token(self, scopes: tuple[str, ...], request: dict[str, Any]) -> Any:
        from azure.core.exceptions import AzureError

        if self._failure is not None and self._clock() < self._failed_at + FAILED_SECONDS:
            raise self._failure
        self._credential = self._credential or self._make()
        try:
            return self._credential.get_token_info(*scopes, options=request)
        except AzureError as error:
            self._failure, self._failed_at = error, self._clock()
            raise

    def close(self) -> None:
        """Do nothing, because clients close their credential and units share this one."""

    def __enter__(self) -> "SharedLogin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


MAX_PAGES = 500  # a region's sizes are one page today

SUBSCRIPTION = "{subscriptionId}"
"""Placeholder for the subscription id, which must not be stored."""

RETRIED_STATUSES = RETRIED - {403}
"""Statuses worth another try. Here, 403 means that the account lacks a permission."""

ListFunction = Callable[[dict[str, Any]], Iterable[object]]
"""Takes the options of an SDK client and yields the pages of one list as the SDK follows them."""


class _Answer(msgspec.Struct, rename="camel"):
    """One page of Azure's response; the members of its elements stay JSON."""

    value: list[dict[str, msgspec.Raw] | None]
    next_link: str | None = None


_DECODER = msgspec.json.Decoder(_Answer)


@dataclass(frozen=True)
class _ListPage:
    """One page of a list: its body, the number of elements, and the link to the next page."""

    body: bytes
    count: int
    link: str | None


@dataclass
class _Exchange:
    """The traffic while one list was read: the URLs requested and the pages received.

    ``members`` are the members of the list's elements that are read later.
    """

    members: Schema
    urls: set[str] = field(default_factory=set)
    pages: list[_ListPage] = field(default_factory=list)

    def is_complete(self, followed: int) -> bool:
        """Check that the SDK followed every link. ``followed`` is the number of its pages."""
        links = [page.link is not None for page in self.pages]
        ends = [*[True] * (followed - 1), False]  # all but the last have a link
        return links == ends and len(self.urls) == followed


def fetch_sizes(context: Context, unit: Unit) -> list[Page]:
    """Land the resource SKUs of one region.

    Raises:
        FetchError: the account may not list them, or the list is unavailable or incomplete.
        SkippedError: the region offers nothing to the account.
    """
    settings: Settings = context.settings

    def list_skus(options: dict[str, Any]) -> Iterable[object]:
        from azure.mgmt.compute import ComputeManagementClient

        with ComputeManagementClient(subscription_id=_subscription(settings), **options) as client:
            yield from client.resource_skus.list(filter=f"location eq '{unit.region}'").by_page()

    pages = _read_pages(context, list_skus, SKU)
    if not any(page.count for page in pages):
        raise SkippedError(f"Azure lists no sizes in {unit.region} for this subscription")
    return _land(context, unit, pages, "providers/Microsoft.Compute/skus")


def fetch_locations(context: Context, unit: Unit) -> list[Page]:
    """Land the subscription's locations.

    Raises:
        FetchError: the account may not list them, or the list is unavailable or incomplete.
    """
    return _land(context, unit, _read_locations(context), "locations")


def read_regions(context: Context) -> list[str]:
    """List the public regions of the subscription, sorted.

    Raises:
        FetchError: the account may not list them, or the list is unavailable or incomplete.
    """
    pages = _read_locations(context)
    locations = [v for page in pages for v in msgspec.json.decode(page.body)["value"]]
    public = [v for v in locations if isinstance(v, dict) and is_public_location(v)]
    return sorted({str(v.get("name")).lower() for v in public if v.get("name")})


def _read_locations(context: Context) -> list[_ListPage]:
    def list_locations(options: dict[str, Any]) -> Iterable[object]:
        from azure.mgmt.resource.subscriptions import SubscriptionClient

        with SubscriptionClient(**options) as client:
            subscription = _subscription(context.settings)
            yield from client.subscriptions.list_locations(subscription).by_page()

    return _read_pages(context, list_locations, LOCATION)


def _read_pages(context: Context, list_pages: ListFunction, members: Schema) -> list[_ListPage]:
    """Read all pages of one list, in order. ``members`` are the members of its elements."""
    from azure.core.exceptions import AzureError, ServiceRequestError, ServiceResponseError

    endpoint = public_url(context.settings.azure_arm_url)
    exchange = _Exchange(members)
    try:
        followed = sum(1 for _ in list_pages(_options(context, exchange)))
    except (AzureError, *PARSER_FAILURES) as error:
        is_connection = isinstance(error, (ServiceRequestError, ServiceResponseError))
        raise FetchError(
            f"{endpoint} failed: {_first_line(error, context.settings)}",
            "Try again later, or check the network and the endpoint setting."
            if is_connection
            else "Check the account (az login), the subscription and its rights.",
        ) from None
    if not exchange.is_complete(followed):
        raise FetchError(
            f"{endpoint} sent {len(exchange.pages)} pages for {len(exchange.urls)} requests,"
            f" {followed} were followed, and the list has not come to its end",
            "Try again later.",
        )
    return exchange.pages


def _options(context: Context, exchange: _Exchange) -> dict[str, Any]:
    """Make the options of an SDK client: endpoint, credential, timeouts, and our own policies."""
    url = context.settings.azure_arm_url
    limits = context.http.limits()
    # The SDK logs URLs, which contain the subscription's id, a page of text per failed login, and
    # tracebacks for unreadable responses. Our errors say the same in one line.
    logging.getLogger("azure").setLevel(logging.ERROR)
    return {
        "base_url": url,
        "credential_scopes": [f"{url}/.default"],
        "per_call_policies": [_page_guard(url, exchange)],
        "retry_policy": _retry_policy(context, limits),
        "permit_redirects": False,
        "transport": _transport(context.settings, limits, exchange),
        **_authentication(context, url),
    }


def _transport(settings: Settings, limits: Limits, exchange: _Exchange) -> Any:
    """Make the SDK's transport, with timeouts and the limits of the unit.

    It keeps each good response in ``exchange``, and passes it to the SDK without its elements.
    """
    from azure.core.pipeline.transport import RequestsTransport

    transport = RequestsTransport(
        connection_timeout=settings.connect_timeout, read_timeout=settings.read_timeout
    )
    transport.open()
    name = public_url(settings.azure_arm_url)
    bound_requests(transport.session, limits, name)

    def keep(response: Any, **_: Any) -> Any:
        if response.status_code != 200:
            return response
        page = _read_page(response.content, exchange.members, name)
        exchange.pages.append(page)
        return _without_elements(response, page)

    transport.session.hooks["response"].append(keep)
    return transport


def _without_elements(response: Any, page: _ListPage) -> Any:
    """Make the response that the SDK gets: an empty page with the same link."""
    import requests
    from urllib3 import HTTPResponse

    body = msgspec.json.encode({"value": [], "nextLink": page.link})
    short = requests.Response()
    short.status_code, short.reason = response.status_code, response.reason
    short.url, short.request = response.url, response.request
    short.headers["Content-Type"] = "application/json"
    short.raw = HTTPResponse(io.BytesIO(body), preload_content=False)
    return short


def _page_guard(url: str, exchange: _Exchange) -> Any:
    """Make a policy that runs once per page, before the credential is attached.

    It refuses links to another host, and links that form a loop.
    """
    from azure.core.pipeline.policies import SansIOHTTPPolicy

    class PageGuard(SansIOHTTPPolicy):  # type: ignore[type-arg]
        def on_request(self, request: Any) -> None:
            page_url = request.http_request.url
            check_same_host(url, page_url)
            if page_url in exchange.urls or len(exchange.urls) == MAX_PAGES:
                raise FetchError(
                    f"the pages of {public_url(url)} run in a circle", "Try again later."
                )
            exchange.urls.add(page_url)

    return PageGuard()


def _retry_policy(context: Context, limits: Limits) -> Any:
    """Make a policy that retries requests by the rules that all vendors share."""
    from azure.core import exceptions
    from azure.core.pipeline.policies import HTTPPolicy

    class BadStatusError(Exception):
        def __init__(self, response: Any) -> None:
            super().__init__()
            self.response = response

    def decide(error: BaseException) -> TryAgain | None:
        if isinstance(error, BadStatusError):
            header = error.response.http_response.headers.get("Retry-After", "")
            return TryAgain(parse_retry_after(header))
        broken = (exceptions.ServiceRequestError, exceptions.ServiceResponseError)
        stalled = (exceptions.ServiceRequestTimeoutError, exceptions.ServiceResponseTimeoutError)
        if not isinstance(error, broken):
            return None
        return TryAgain(is_stall=isinstance(error, stalled))

    class RetryPolicy(HTTPPolicy):  # type: ignore[type-arg]
        def send(self, request: Any) -> Any:
            def once() -> Any:
                response = self.next.send(request)
                if response.http_response.status_code in RETRIED_STATUSES:
                    raise BadStatusError(response)
                return response

            try:
                return call(
                    once,
                    settings=context.settings,
                    sleep=context.http.sleep,
                    decide=decide,
                    limits=limits,
                )
            except BadStatusError as error:
                return error.response  # the SDK makes an error of it that says why

    return RetryPolicy()


def _authentication(context: Context, url: str) -> dict[str, Any]:
    """Return the authentication options of a client: over https, one login for all units.

    A server on this machine, over plain http, gets no credential.
    """
    if url.startswith("http://") and is_loopback(url):
        from azure.core.pipeline.policies import SansIOHTTPPolicy

        return {"credential": _NoCredential(), "authentication_policy": SansIOHTTPPolicy()}
    check_endpoint(url, credentials=True)
    from azure.identity import DefaultAzureCredential

    login = context.shared.setdefault("login", SharedLogin(DefaultAzureCredential))
    return {"credential": login}


class _NoCredential:
    """A credential for connections without tokens: the SDK needs an object, but never uses it."""

    def get_token(self, *_: str, **__: Any) -> Any:
        raise FetchError("a token was requested where none may be sent")


def _read_page(body: bytes, members: Schema, endpoint: str) -> _ListPage:
    """Parse a page, and check that it will be readable once landed."""
    try:
        answer = _DECODER.decode(body)  # before polars, which does not limit nesting
        read_elements(body, members, "elements")
    except (msgspec.MsgspecError, ValueError, RecursionError):  # they may quote the subscription
        raise FetchError(
            f"{endpoint} failed: it returned no readable list", "Try again later."
        ) from None
    return _ListPage(body, len(answer.value), answer.next_link or None)


def _land(context: Context, unit: Unit, pages: list[_ListPage], path: str) -> list[Page]:
    """Land bodies as received, except for the subscription's id, which each location repeats."""
    secret = re.compile(re.escape(_subscription(context.settings).encode()), re.IGNORECASE)
    bodies = [secret.sub(SUBSCRIPTION.encode(), page.body) for page in pages]
    url = f"{context.settings.azure_arm_url}/subscriptions/{SUBSCRIPTION}/{path}"
    now = context.now
    return [context.landing.land_bytes(unit, body, url=url, retrieved_at=now()) for body in bodies]


def _subscription(settings: Settings) -> str:
    if not settings.azure_subscription_id:
        raise FetchError("no Azure subscription is set", "Set AZURE_SUBSCRIPTION_ID.")
    return settings.azure_subscription_id


def _first_line(error: Exception, settings: Settings) -> str:
    """Return the first line of an error, without the subscription's id.

    The other lines have the response, or all credentials that were tried.
    """
    first = redact(str(error).strip().split("\n")[0][:2000])[:200]
    text = f"{type(error).__name__} {first}"
    if settings.azure_subscription_id:
        return text.replace(settings.azure_subscription_id, SUBSCRIPTION)
    return text
