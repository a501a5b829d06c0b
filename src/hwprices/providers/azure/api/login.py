"""Log in to Azure once for all units of a run.

The SDK asks for a token in each client, and there is one client for each unit. Where the login is
that of Azure's command line, each of them would start a program that takes a second or more.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

VALID_SECONDS = 300
"""A token that expires sooner is renewed. azure-core does so too."""

FAILED_SECONDS = 30
"""How long a login that failed is not tried again. There are several ways to log in, and each unit
would try all of them, one unit after the other."""


class SharedLogin:
    """A credential of the SDK (``SupportsTokenInfo``) that keeps the tokens of another one.

    ``make`` makes the other one when it is first needed. ``clock`` is an argument for the tests.
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
        """Return a token, one that is kept where it is valid for some minutes.

        Raises:
            azure.core.exceptions.AzureError: the login fails, or failed a moment ago.
        """
        request = dict(options or {})
        has_claims = "claims" in request  # they are sent after a token was refused
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
        """Do nothing: the units share it, and a client closes what it was given."""

    def __enter__(self) -> "SharedLogin":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
