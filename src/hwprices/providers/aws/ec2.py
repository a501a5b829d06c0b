"""Call the EC2 API through boto3, and land its responses as received.

boto3 finds credentials by its own chain and the endpoint by its own variables
(AWS_ENDPOINT_URL_EC2). No page, parameter or message contains a credential: only the code of an
error is reported.
"""

import functools
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from hwprices.landing import limits
from hwprices.landing.bodies import BoundedBotoSession
from hwprices.landing.download import FetchError, check_endpoint, public_url
from hwprices.landing.pages import NO_ANSWER, Page, Unit
from hwprices.providers import Context, SkippedError
from hwprices.providers.aws import (
    CAPACITY_BLOCKS,
    HOME_REGION,
    INSTANCE_TYPES,
    OFFERINGS,
    REGIONS,
    SPOT,
    ZONES,
    bulk_files,
)
from hwprices.specs import packaged_rows

if TYPE_CHECKING:
    import botocore.loaders


METADATA_TIMEOUT = 1
"""Seconds to wait for the instance metadata service, which does not exist outside AWS."""

CONNECTION_TRIES = 2
"""Tries to reach a region: a dead one is skipped after twice the connect timeout."""

MAX_PAGES = 1000
"""Limit of pages of one list. The longest, spot prices (900 types, 6 zones, 4 products, 1,000 a
page), has about 20."""

NO_KEY = "none"
"""Replaces the account's key over plain http. A server on this machine, such as moto's, reads the
region from the signature and does not verify it."""

BLOCK_HOURS = 24
"""The shortest capacity block that is sold:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html"""

_CODES = packaged_rows("aws_codes")


def _codes(kind: str) -> list[str]:
    return [row["code"] for row in _CODES if row["kind"] == kind]


ULTRASERVERS = _codes("ultraserver")
"""Machines in a rack that are sold together, only in capacity blocks. EC2 does not list them and
refuses unknown names."""

NOT_ALLOWED = _codes("not_allowed")
"""Error codes for a region that the account has not enabled, and for missing permissions."""

NOT_SOLD = _codes("not_sold")
"""Error codes for a region that sells no capacity blocks, or none of the type."""

THROTTLED = _codes("throttled")
"""Error codes of a request that may succeed later."""

WOULD_SUCCEED = "DryRunOperation"
"""The error code with which EC2 answers a DryRun of a call that the account may make."""

RETRIED_STATUSES = limits.RETRIED - {403}
"""EC2 answers 403 if a permission is missing, which another try does not fix."""


@dataclass(frozen=True)
class Operation:
    """A call of the EC2 API: boto3's name, the parameters, and the list in the response."""

    name: str
    parameters: Mapping[str, Any]
    member: str


OPERATIONS = {
    REGIONS: Operation("describe_regions", {"AllRegions": True}, "Regions"),
    ZONES: Operation(
        "describe_availability_zones", {"AllAvailabilityZones": True}, "AvailabilityZones"
    ),
    # 100 and 1000 are the API's limits.
    INSTANCE_TYPES: Operation("describe_instance_types", {"MaxResults": 100}, "InstanceTypes"),
    OFFERINGS: Operation(
        "describe_instance_type_offerings",
        {"LocationType": "availability-zone", "MaxResults": 1000},
        "InstanceTypeOfferings",
    ),
    SPOT: Operation("describe_spot_price_history", {"MaxResults": 1000}, "SpotPriceHistory"),
}

_making_client = threading.Lock()  # making clients from one loader is not thread-safe


@dataclass(frozen=True)
class Response:
    """One page of a response: what boto3 parsed, and the body as received."""

    parsed: Mapping[str, Any]
    body: bytes


class Ec2Client:
    """A client of one region that keeps the body of each response. Close it after use.

    Raises:
        FetchError: boto3's configuration is unusable, or the endpoint is neither https nor on this
            machine. Over plain http, no credential is sent.
    """

    def __init__(self, context: Context, region: str) -> None:
        self.context, self.region = context, region
        self._body = b""
        with _making_client:
            self._client = _boto3_client(context, region)
        self.endpoint = str(self._client.meta.endpoint_url)
        check_endpoint(self.endpoint)
        self._client.meta.events.register("before-parse.ec2.*", self._keep_body)
        self._limits = context.http.limits()
        endpoint = self._client._endpoint
        name = f"{public_url(self.endpoint)} in {region}"
        endpoint.http_session = BoundedBotoSession(endpoint.http_session, self._limits, name)

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _keep_body(self, response_dict: dict[str, Any], **_: Any) -> None:
        self._body = bytes(response_dict["body"])

    def name_of(self, operation: str) -> str:
        """Return the name of a call in messages."""
        return f"{public_url(self.endpoint)} {operation} in {self.region}"

    def call(self, operation: str, *, is_first: bool, **parameters: Any) -> Response:
        """Make one request; try again if it is throttled, broken or unanswered.

        Raises:
            SkippedError: the region does not answer the first request, or the account may not make
                the call.
            FetchError: it failed after all tries.
        """
        from botocore import exceptions
        from botocore.parsers import ResponseParserError

        name = self.name_of(operation)
        try:
            parsed = limits.call(
                functools.partial(getattr(self._client, operation), **parameters),
                settings=self.context.settings,
                sleep=self.context.http.sleep,
                decide=_decide,
                limits=self._limits,
            )
        except exceptions.ClientError as error:
            raise _refusal(error, name) from None
        except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
            raise _broken(error, name, is_first) from None
        except ResponseParserError:
            raise FetchError(
                f"{name} did not return an EC2 response",
                "Check AWS_ENDPOINT_URL_EC2, or try again later.",
            ) from None
        except exceptions.BotoCoreError as error:
            raise FetchError(
                f"{name}: {type(error).__name__}", "Check the AWS credentials that boto3 finds."
            ) from None
        return Response(parsed, self._body)

    def pages(self, operation: str, **parameters: Any) -> Iterator[Response]:
        """Make a call and follow its pages to the last.

        Raises:
            SkippedError, FetchError: see ``call``.
            FetchError: a page leads to an earlier one, or there are too many.
        """
        tokens: list[str] = []
        while True:
            more = {"NextToken": tokens[-1]} if tokens else {}
            response = self.call(operation, is_first=not tokens, **parameters, **more)
            yield response
            token = str(response.parsed.get("NextToken") or "")
            if not token:
                return
            if token in tokens:
                raise FetchError(
                    f"{operation} in {self.region} repeats a page",
                    "Try again later.",
                )
            tokens.append(token)
            if len(tokens) == MAX_PAGES:
                raise FetchError(
                    f"{public_url(self.endpoint)} {operation} in {self.region} has more than"
                    f" {MAX_PAGES} pages",
                    "Try again later; if the list has grown, raise MAX_PAGES in ec2.py.",
                )

    def dry_run(self, operation: str, **parameters: Any) -> str:
        """Check whether the account may make a call, without making it.

        Returns "" if it may, else EC2's answer in words.
        """
        try:
            self.call(operation, is_first=True, DryRun=True, **parameters)
        except _RefusedError as error:
            return "" if error.code == WOULD_SUCCEED else error.message
        except (SkippedError, FetchError) as error:
            return error.message
        return f"{self.name_of(operation)} does not answer DryRun as EC2 does"


class _RefusedError(FetchError):
    """EC2 refused a request; ``code`` is its error code."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.code = code


def has_credentials() -> bool:
    """Check whether boto3's chain has credentials. May wait a second for the metadata service."""
    try:
        return credential_source() is not None
    except FetchError:
        return True  # The configured ones are unusable: the units fail and say so.


def credential_source() -> str | None:
    """Return the method by which boto3's chain finds credentials, such as ``env``; None without.

    May wait a second for the metadata service.

    Raises:
        FetchError: the configured credentials are unusable.
    """
    from botocore.exceptions import BotoCoreError

    try:
        credentials = _session().get_credentials()
    except BotoCoreError as error:
        raise FetchError(
            f"boto3's credentials are unusable: {type(error).__name__}",
            "Check the profile and the files that it names.",
        ) from None
    return None if credentials is None else str(credentials.method)


def read_opt_in(context: Context) -> dict[str, str]:
    """Return the opt-in status of every region of the partition: region code → status.

    Raises:
        FetchError, SkippedError: see ``Ec2Client.call``.
    """
    operation = OPERATIONS[REGIONS]
    with closing(Ec2Client(context, home_region())) as client:
        response = client.call(operation.name, is_first=True, **operation.parameters)
    regions = _listed(response, operation.member, client.name_of(operation.name))
    return {
        region["RegionName"]: str(region.get("OptInStatus", ""))
        for region in regions
        if bulk_files.REGION_NAME.fullmatch(region.get("RegionName", ""))
    }


def home_region() -> str:
    """Return the region for global data: boto3's, else HOME_REGION."""
    return str(_session().get_config_variable("region") or HOME_REGION)


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one unit's pages.

    Raises:
        SkippedError: the region is not enabled or does not answer, or a permission is missing.
        FetchError: a page is unavailable.
    """
    if unit.params.get("opt_in") == "not-opted-in":
        raise SkippedError(
            f"{unit.region} is not enabled for this account",
            "Enable it in the AWS account settings to collect it.",
        )
    region = home_region() if unit.kind == REGIONS else unit.region
    with closing(Ec2Client(context, region)) as client:
        if unit.kind == CAPACITY_BLOCKS:
            return list(_capacity_blocks(context, unit, client))
        if unit.kind == REGIONS:
            return _regions(context, unit, client)
        return _pages(context, unit, client)


def _pages(context: Context, unit: Unit, client: Ec2Client) -> list[Page]:
    operation = OPERATIONS[unit.kind]
    since: dict[str, object] = {}
    if unit.kind == SPOT:  # a start time of now returns the current quotes without their history
        since["StartTime"] = unit.params.get("from", context.now())
        since |= {"EndTime": unit.params["until"]} if "until" in unit.params else {}
    pages: list[Page] = []
    for response in client.pages(operation.name, **operation.parameters, **since):
        _listed(response, operation.member, client.name_of(operation.name))
        number = len(pages) + 1
        pages.append(_land(context, unit, client, operation.name, number, response.body))
    return pages


def _listed(response: Response, member: str, name: str) -> list[Any]:
    """Return the list of a response. EC2 sends it even if it is empty."""
    listed = response.parsed.get(member)
    if not isinstance(listed, list):
        raise FetchError(f"{name} returned no {member}", "Check AWS_ENDPOINT_URL_EC2.")
    return listed


def _regions(context: Context, unit: Unit, client: Ec2Client) -> list[Page]:
    """Land DescribeRegions. Every account may call it, so a refusal means wrong credentials."""
    try:
        return _pages(context, unit, client)
    except SkippedError as error:
        raise FetchError(error.message, "Check the AWS credentials that boto3 finds.") from None


def _capacity_blocks(context: Context, unit: Unit, client: Ec2Client) -> Iterator[Page]:
    """Land the offerings of one machine for a day, for each type that is sold in blocks.

    UltraServers are not instance types and have another parameter, which some accounts may not use.
    Most regions have no UltraServers: their empty responses are not landed.
    """
    operation = "describe_capacity_block_offerings"
    block = {"CapacityDurationHours": BLOCK_HOURS, "AllAvailabilityZones": True}
    landed = 0
    machines = [("InstanceType", name) for name in _types_sold_in_blocks(client)]
    for parameter, name in [*machines, *(("UltraserverType", name) for name in ULTRASERVERS)]:
        count = parameter.replace("Type", "Count")
        request: dict[str, Any] = {parameter: name, count: 1, **block}
        try:
            for response in client.pages(operation, **request):
                is_empty = not response.parsed.get("CapacityBlockOfferings")
                if parameter == "UltraserverType" and is_empty:
                    continue
                landed += 1
                yield _land(
                    context, unit, client, operation, landed, response.body, **{parameter: name}
                )
        except _RefusedError as error:
            is_unknown_rack = parameter == "UltraserverType" and error.code not in THROTTLED
            if error.code not in NOT_SOLD and not is_unknown_rack:
                raise
        except SkippedError as error:
            if parameter != "UltraserverType" or error.cause == NO_ANSWER:
                raise
            break
    if not landed:
        raise SkippedError(f"no capacity blocks are offered in {unit.region}")


def _types_sold_in_blocks(client: Ec2Client) -> list[str]:
    sold = {"Name": "supported-usage-class", "Values": ["capacity-block"]}
    try:
        name = client.name_of("describe_instance_types")
        return sorted(
            entry["InstanceType"]
            for response in client.pages("describe_instance_types", Filters=[sold], MaxResults=100)
            for entry in _listed(response, "InstanceTypes", name)
            if "InstanceType" in entry
        )
    except _RefusedError as error:
        raise SkippedError(error.message, error.remedy) from None


def _land(
    context: Context,
    unit: Unit,
    client: Ec2Client,
    operation: str,
    number: int,
    body: bytes,
    **parameters: str,
) -> Page:
    action = "".join(part.title() for part in operation.split("_"))
    return context.landing.land_bytes(
        unit,
        body,
        url=public_url(client.endpoint),
        retrieved_at=context.now(),
        suffix="xml",
        params={"Action": action, "region": client.region, "page": str(number), **parameters},
    )


def _decide(error: BaseException) -> limits.TryAgain | None:
    """Retry a throttled request; retry a broken connection up to CONNECTION_TRIES times."""
    from botocore import exceptions
    from botocore.parsers import ResponseParserError

    if isinstance(error, exceptions.ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        is_throttled = _code(error) in THROTTLED or status in RETRIED_STATUSES
        return limits.TryAgain() if is_throttled else None
    broken = (
        exceptions.ConnectionError,
        exceptions.HTTPClientError,
        exceptions.IncompleteReadError,
        ResponseParserError,
    )
    stalled = (exceptions.ReadTimeoutError, exceptions.ConnectTimeoutError)
    if not isinstance(error, broken):
        return None
    return limits.TryAgain(at_most=CONNECTION_TRIES, is_stall=isinstance(error, stalled))


def _code(error: Any) -> str:
    return str(error.response.get("Error", {}).get("Code", "?"))


def _refusal(error: Any, name: str) -> SkippedError | FetchError:
    code = _code(error)
    if code in NOT_ALLOWED:
        return SkippedError(
            f"{name}: {code}",
            "Enable the region for the account, or allow what docs/aws-iam-policy.json lists.",
        )
    return _RefusedError(code, f"{name}: {code}", "Try again later.")


def _broken(error: BaseException, name: str, is_first: bool) -> SkippedError | FetchError:
    kind = type(error).__name__
    if is_first:
        return SkippedError(f"{name} did not answer ({kind})", "Try again later.", cause=NO_ANSWER)
    return FetchError(f"{name} broke off ({kind})", "Try again later.")


@functools.cache
def _loader() -> "botocore.loaders.Loader":
    """Load botocore's description of EC2 (0.5 MB gzipped) once per process, not per region."""
    import botocore.session

    return botocore.session.get_session().get_component("data_loader")


def _session() -> Any:
    import botocore.session

    session = botocore.session.get_session()
    session.set_config_variable("metadata_service_timeout", METADATA_TIMEOUT)
    session.set_config_variable("metadata_service_num_attempts", 1)
    return session


def _boto3_client(context: Context, region: str) -> Any:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    settings = context.settings
    config = Config(
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        retries={"mode": "standard", "total_max_attempts": 1},  # limits.call counts the tries
    )
    session = _session()
    session.register_component("data_loader", _loader())
    # Bodies are landed as received, and nothing reads the times that botocore parses. Keeping them
    # as strings saves two fifths of parsing a page of spot quotes.
    session.get_component("response_parser_factory").set_parser_defaults(timestamp_parser=str)
    try:
        make = functools.partial(
            boto3.Session(botocore_session=session).client, "ec2", region_name=region, config=config
        )
        client = make()
        if urlsplit(client.meta.endpoint_url).scheme == "https":
            return client
        return make(aws_access_key_id=NO_KEY, aws_secret_access_key=NO_KEY)
    except (BotoCoreError, ValueError) as error:
        raise FetchError(
            f"no EC2 client for {region}: {type(error).__name__}",
            "Check the AWS configuration that boto3 finds.",
        ) from None
