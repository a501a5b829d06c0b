"""Choose endpoint, key and retries of an object store, for obstore and for polars."""

import os
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from hwprices.errors import HwpricesError

RETRIES = {"max_retries": 5, "retry_timeout": timedelta(minutes=2)}
"""For an object store that answers 5xx or breaks connections. obstore's own policy tries for three
minutes, at every single write of a run."""

OWN_KEY = ("HWPRICES_STORE_KEY_ID", "HWPRICES_STORE_SECRET_KEY")
"""Variables with a key for s3:// roots alone, such as that of a MinIO of one's own. boto3 does not
know them: with AWS_ACCESS_KEY_ID in their place it would ask EC2 with the key of another store."""

AWS_ACCOUNT = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
"""Options of polars that are of the AWS account, and not of a store with its own key."""


def open_options(root: str) -> dict[str, Any]:
    """Return the arguments with which obstore opens an object store."""
    if root.startswith("memory://"):
        return {}
    return {"retry_config": RETRIES, **_client_options(root), **_credentials(root)}


def scan_options(root: str) -> dict[str, Any]:
    """Return the arguments with which polars scans files of the same object store.

    None are needed for a folder. For an object store these are the usual AWS_, GOOGLE_ and AZURE_
    environment variables, and the store's own key where there is one.
    """
    if "://" not in root:
        return {}
    prefixes = ("AWS_", "GOOGLE_", "AZURE_")
    options = {name.lower(): text for name, text in os.environ.items() if name.startswith(prefixes)}
    if (key := _own_key(root)) is None:
        return {"storage_options": options}
    named = {"aws_access_key_id": key[0], "aws_secret_access_key": key[1]}
    others = {name: text for name, text in options.items() if name not in AWS_ACCOUNT}
    return {"storage_options": others, "credential_provider": lambda: (named, None)}


def _own_key(root: str) -> tuple[str, str] | None:
    """Return the id and the secret of the store's own key; None where the account's is meant."""
    key_id, secret = (os.environ.get(name, "") for name in OWN_KEY)
    if not root.startswith("s3://") or not (key_id or secret):
        return None
    if not (key_id and secret):
        raise HwpricesError(f"only one of {' and '.join(OWN_KEY)} is set", "Set both, or neither.")
    return key_id, secret


def _credentials(root: str) -> dict[str, Any]:
    """Make obstore's argument for the store's own key; none where the account's is meant.

    As a provider, because obstore adds AWS_SESSION_TOKEN, of another account, to a key in its
    configuration.
    """
    if (key := _own_key(root)) is None:
        return {}
    named = {"access_key_id": key[0], "secret_access_key": key[1], "token": None}
    return {"credential_provider": lambda: {**named, "expires_at": None}}


def _client_options(root: str) -> dict[str, Any]:
    """Make obstore's client options. Plain http is for a test server on this machine only."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if not root.startswith("s3://") or not endpoint:
        return {}
    address = urlsplit(endpoint)
    if address.scheme == "http" and address.hostname in ("127.0.0.1", "localhost"):
        return {"endpoint": endpoint, "client_options": {"allow_http": True}}
    return {"endpoint": endpoint}
