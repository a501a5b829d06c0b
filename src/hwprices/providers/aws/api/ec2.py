"""The EC2 API through boto3, its answers landed as they came.

boto3 finds credentials by its own chain and the endpoint by its own variables (AWS_ENDPOINT_URL_EC2). No credential is in a page,
a parameter or a message: of an error only its code is told.
"""

import functools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import tenacity

from hwprices.landing.download import FetchError, check_endpoint, public_url
from hwprices.landing.pages import Page, Unit
from hwprices.providers import Context, SkippedError
from hwprices.providers.aws.inventory.instance_types import HOME
from hwprices.providers.aws.kinds import (
    CAPACITY_BLOCKS,
    INSTANCE_TYPES,
    NO_ANSWER,
    OFFERINGS,
    REGIONS,
    SPOT,
    ZONES,
)

if TYPE_CHECKING:
    import botocore.loaders

METADATA_TIMEOUT = (
    1  # seconds for the instance metadata service: off AWS nobody answers, and everybody would wait
)
CONNECTION_TRIES = (
    2  # of a region that does not answer: a dead one is skipped after twice the connect timeout
)
BLOCK_HOURS = 24  # shortest capacity block, so the price of the fewest days

NOT_ALLOWED = {
    "AuthFailure",
    "UnauthorizedOperation",
    "OptInRequired",
    "AccessDenied",
    "AccessDeniedException",
    "UnrecognizedClientException",
}
"""What a region that the account has not enabled answers, and what an identity without the right gets."""

NOT_SOLD = {
    "InvalidParameterValue",
    "InvalidParameterCombination",
    "Unsupported",
    "UnsupportedOperation",
    "InvalidAction",
    "NotImplemented",
    "InternalFailure",
}
"""Answers of a region that knows no capacity blocks, or none of the type."""

THROTTLED = {
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "RequestThrottled",
    "InternalError",
    "Unavailable",
    "ServiceUnavailable",
}

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    REGIONS: ("describe_regions", {"AllRegions": True}),
    ZONES: ("describe_availability_zones", {"AllAvailabilityZones": True}),
    INSTANCE_TYPES: ("describe_instance_types", {"MaxResults": 100}),  # the API's largest page
    OFFERINGS: (
        "describe_instance_type_offerings",
        {"LocationType": "availability-zone", "MaxResults": 1000},
    ),
    SPOT: ("describe_spot_price_history", {"MaxResults": 1000}),
}

_making = threading.Lock()  # making clients from one loader is not thread-safe


class Wire:
    """A client of one region that keeps the body of its last answer."""

    def __init__(self, context: Context, region: str) -> None:
        self.context, self.region = context, region
        self.body = b""
        with _making:
            self.client = _client(context, region)
        self.endpoint = str(self.client.meta.endpoint_url)
        check_endpoint(self.endpoint)  # https, or this machine: credentials go nowhere else
        self.client.meta.events.register("before-parse.ec2.*", self._keep)

    def _keep(self, response_dict: dict[str, Any], **_: Any) -> None:
        self.body = bytes(response_dict["body"])

    def call(self, operation: str, first: bool, **parameters: Any) -> dict[str, Any]:
        """One request, tried again when throttled, broken or unanswered.

        Raises:
            SkippedError: the region does not answer the first request, or says that it is not for this account.
            FetchError: it failed after all tries.
        """
        from botocore import exceptions
        from botocore.parsers import ResponseParserError

        retry = _retry(self.context, exceptions)
        name = f"{public_url(self.endpoint)} {operation} in {self.region}"
        try:
            response: dict[str, Any] = retry(getattr(self.client, operation), **parameters)
        except exceptions.ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", "?"))
            if code in NOT_ALLOWED:
                raise SkippedError(
                    f"{name}: {code}",
                    "Enable the region for the account, or allow what docs/aws-iam-policy.json lists.",
                ) from None
            raise _RefusedError(code, f"{name}: {code}", "Try again later.") from None
        except (exceptions.ConnectionError, exceptions.HTTPClientError) as error:
            kind = type(error).__name__
            if first:
                raise SkippedError(f"{name} {NO_ANSWER} ({kind})", "Try again later.") from None
            raise FetchError(f"{name} broke off ({kind})", "Try again later.") from None
        except ResponseParserError:
            raise FetchError(
                f"{name} answers what is no EC2 answer",
                "Check AWS_ENDPOINT_URL_EC2, or try again later.",
            ) from None
        except exceptions.BotoCoreError as error:
            raise FetchError(
                f"{name}: {type(error).__name__}", "Check the AWS credentials that boto3 finds."
            ) from None
        return response

    def pages(self, operation: str, **parameters: Any) -> Iterator[tuple[dict[str, Any], bytes]]:
        """All pages of a call: what boto3 made of each, and its body."""
        token = ""
        seen: set[str] = set()
        while True:
            more: dict[str, Any] = {"NextToken": token} if token else {}
            response = self.call(operation, not seen, **parameters, **more)
            yield response, self.body
            token = str(response.get("NextToken") or "")
            if not token:
                return
            if token in seen:
                raise FetchError(
                    f"{operation} in {self.region} gives the same page again and again",
                    "Try again later.",
                )
            seen.add(token)


class _RefusedError(FetchError):
    """EC2 said no, with a code."""

    def __init__(self, code: str, message: str, remedy: str) -> None:
        super().__init__(message, remedy)
        self.code = code


def has_credentials() -> bool:
    """Whether boto3's chain finds any. Asks the instance metadata service once, for a second."""
    from botocore.exceptions import BotoCoreError

    try:
        return _session().get_credentials() is not None
    except BotoCoreError:
        return True  # some are configured and cannot be used: the units say so


def regions(context: Context) -> dict[str, str]:
    """Region → opt-in status, of every region of the partition.

    Raises:
        FetchError, SkippedError: it cannot be asked.
    """
    answer = Wire(context, home()).call("describe_regions", True, AllRegions=True)
    return {said["RegionName"]: str(said.get("OptInStatus", "")) for said in answer["Regions"]}


def home() -> str:
    """Region asked for what is the same everywhere: the one boto3 is configured for, or us-east-1."""
    return str(_session().get_config_variable("region") or HOME)


def fetch(context: Context, unit: Unit) -> list[Page]:
    """Land one unit's pages.

    Raises:
        SkippedError: the region is not enabled, does not answer, or the right is missing.
        FetchError: it could not be had.
    """
    if unit.params.get("opt_in") == "not-opted-in":
        raise SkippedError(
            f"{unit.region} is not enabled for this account",
            "Enable it in the AWS account settings to have it.",
        )
    wire = Wire(context, home() if unit.kind == REGIONS else unit.region)
    if unit.kind == CAPACITY_BLOCKS:
        return list(_capacity_blocks(context, unit, wire))
    if unit.kind == REGIONS:
        return _regions(context, unit, wire)
    operation, parameters = CALLS[unit.kind]
    # From now on: the quotes in force, not their history.
    since = {"StartTime": context.now()} if unit.kind == SPOT else {}
    return [
        _land(context, unit, wire, operation, n, body)
        for n, (_, body) in enumerate(wire.pages(operation, **parameters, **since), 1)
    ]


def _regions(context: Context, unit: Unit, wire: Wire) -> list[Page]:
    """Every account may list regions in its home region: a refusal there is a fault of the credentials, and told as a failure."""
    operation, parameters = CALLS[REGIONS]
    try:
        return [
            _land(context, unit, wire, operation, n, body)
            for n, (_, body) in enumerate(wire.pages(operation, **parameters), 1)
        ]
    except SkippedError as error:
        raise FetchError(error.message, "Check the AWS credentials that boto3 finds.") from None


def _capacity_blocks(context: Context, unit: Unit, wire: Wire) -> Iterator[Page]:
    """Offers of one machine for a day, of each type that is sold in blocks."""
    sold = {"Name": "supported-usage-class", "Values": ["capacity-block"]}
    landed = 0
    try:
        names = [
            t["InstanceType"]
            for answer, _ in wire.pages("describe_instance_types", Filters=[sold], MaxResults=100)
            for t in answer["InstanceTypes"]
        ]
    except _RefusedError as error:
        raise SkippedError(error.message, error.remedy) from None
    operation = "describe_capacity_block_offerings"
    for name in sorted(names):
        try:
            for _, body in wire.pages(
                operation, InstanceType=name, InstanceCount=1, CapacityDurationHours=BLOCK_HOURS
            ):
                landed += 1
                yield _land(context, unit, wire, operation, landed, body, InstanceType=name)
        except _RefusedError as error:
            if error.code not in NOT_SOLD:
                raise
    if not landed:
        raise SkippedError(f"no capacity blocks are offered in {unit.region}")


def _land(
    context: Context, unit: Unit, wire: Wire, operation: str, number: int, body: bytes, **said: str
) -> Page:
    action = "".join(part.title() for part in operation.split("_"))
    params = {"Action": action, "region": wire.region, "page": str(number), **said}
    return context.landing.land_bytes(
        unit,
        body,
        url=public_url(wire.endpoint),
        retrieved_at=context.now(),
        suffix="xml",
        params=params,
    )


def _retry(context: Context, exceptions: Any) -> tenacity.Retrying:
    """Throttling is waited out; a region that does not connect, or answers half, is tried twice and no more."""
    from botocore.parsers import ResponseParserError

    def again(state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, exceptions.ClientError):
            status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
            passing = error.response.get("Error", {}).get("Code") in THROTTLED or status in (
                429,
                500,
                502,
                503,
                504,
            )
            return passing and state.attempt_number < context.settings.attempts
        broken = isinstance(
            error,
            exceptions.ConnectionError
            | exceptions.HTTPClientError
            | exceptions.IncompleteReadError
            | ResponseParserError,
        )
        return broken and state.attempt_number < min(CONNECTION_TRIES, context.settings.attempts)

    wait = tenacity.wait_exponential_jitter(multiplier=0.5, max=20, jitter=0.5)
    return tenacity.Retrying(retry=again, wait=wait, sleep=context.http.sleep, reraise=True)


@functools.cache
def _loader() -> "botocore.loaders.Loader":
    """Reads EC2's service model once for a process, not once a region."""
    import botocore.session

    return botocore.session.get_session().get_component("data_loader")


def _session() -> Any:
    import botocore.session

    session = botocore.session.get_session()
    session.set_config_variable("metadata_service_timeout", METADATA_TIMEOUT)
    session.set_config_variable("metadata_service_num_attempts", 1)
    return session


def _client(context: Context, region: str) -> Any:
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    settings = context.settings
    config = Config(
        connect_timeout=settings.connect_timeout,
        read_timeout=settings.read_timeout,
        retries={"mode": "standard", "total_max_attempts": 1},  # tries are counted in _retry
    )
    session = _session()
    session.register_component("data_loader", _loader())
    try:
        return boto3.Session(botocore_session=session).client(
            "ec2", region_name=region, config=config
        )
    except (BotoCoreError, ValueError) as error:
        raise FetchError(
            f"no EC2 client for {region}: {type(error).__name__}",
            "Check the AWS configuration that boto3 finds.",
        ) from None
