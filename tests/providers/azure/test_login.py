"""Share one login among the units of a run."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from azure.core.credentials import AccessTokenInfo
from azure.core.exceptions import ClientAuthenticationError

from hwprices.providers.azure.resource_manager import SharedLogin

SCOPE = "https://management.azure.com/.default"
HOUR = 3600


class Credential:
    """Gives tokens that are valid for an hour, or fails; keeps what it was asked."""

    def __init__(self, clock: "Clock") -> None:
        self.clock = clock
        self.fails = False
        self.requests: list[dict[str, Any]] = []

    def get_token_info(self, *_: str, options: dict[str, Any]) -> AccessTokenInfo:
        self.requests.append(options)
        if self.fails:
            raise ClientAuthenticationError("no login")
        return AccessTokenInfo(f"token {len(self.requests)}", int(self.clock()) + HOUR)


class Clock:
    """Tells the time that a test sets."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def credential(clock: Clock) -> Credential:
    return Credential(clock)


@pytest.fixture
def login(clock: Clock, credential: Credential) -> SharedLogin:
    return SharedLogin(lambda: credential, clock)


def test_all_units_share_one_token_until_it_is_old(login, credential, clock) -> None:
    with ThreadPoolExecutor(8) as pool:
        tokens = list(pool.map(lambda _: login.get_token_info(SCOPE).token, range(50)))
    assert set(tokens) == {"token 1"}
    clock.now += HOUR - 299  # less than five minutes are left
    assert login.get_token_info(SCOPE).token == "token 2"
    assert len(credential.requests) == 2


def test_a_token_that_was_refused_is_not_given_again(login, credential) -> None:
    """Azure Resource Manager says in claims why it refuses a token."""
    login.get_token_info(SCOPE, options={})
    for number in (2, 3):
        token = login.get_token_info(SCOPE, options={"claims": "new password"})
        assert token.token == f"token {number}"
        assert login.get_token_info(SCOPE, options={}).token == f"token {number}"
    assert credential.requests == [{}, {"claims": "new password"}, {"claims": "new password"}]


def test_a_login_that_fails_is_not_tried_by_every_unit(login, credential, clock) -> None:
    credential.fails = True
    for _ in range(5):
        with pytest.raises(ClientAuthenticationError, match="no login"):
            login.get_token_info(SCOPE)
    assert len(credential.requests) == 1
    credential.fails = False
    clock.now += 31
    assert login.get_token_info(SCOPE).token == "token 2"


def test_the_sdk_takes_it_for_a_credential(login: SharedLogin, credential: Credential) -> None:
    """Two clients ask for a token each, as those of two units do."""
    from azure.core.pipeline import PipelineContext, PipelineRequest
    from azure.core.rest import HttpRequest
    from azure.mgmt.core.policies import ARMChallengeAuthenticationPolicy

    headers = []
    for _ in range(2):
        request = PipelineRequest(HttpRequest("GET", "https://x.example"), PipelineContext(None))
        ARMChallengeAuthenticationPolicy(login, SCOPE).on_request(request)
        headers.append(request.http_request.headers["Authorization"])
    assert headers == ["Bearer token 1"] * 2
    assert len(credential.requests) == 1
