"""Take credentials out of URLs, and out of vendors' words before an error quotes them.

An error body may repeat the request with its headers. Credentials are recognised by what stands
before them, and those in this process's environment by their value.
"""

import os
import re
from urllib.parse import unquote_plus, urlsplit, urlunsplit

REPLACEMENT = "(secret)"
MIN_LENGTH = 8  # Shorter values of variables are words like "true", which texts may hold by chance

_SECRET_VARIABLE = re.compile(
    r"SECRET|TOKEN|PASSW|API_?KEY|ACCESS_KEY|ACCOUNT_KEY|SAS|IDENTITY_HEADER"
)

_AFTER_SCHEME = re.compile(r"\b(bearer|basic|aws4-hmac-sha256|sharedkey)\s+[^\"'\s,;}]{4,}", re.I)

NAMES = (
    "access-key",
    "access-token",
    "account-key",
    "api-key",
    "authorization",
    "aws-access-key-id",
    "aws-secret-access-key",
    "aws-session-token",
    "client-assertion",
    "client-secret",
    "credential",
    "google-access-id",
    "id-token",
    "key",
    "key-pair-id",
    "passwd",
    "password",
    "private-key",
    "pwd",
    "refresh-token",
    "secret",
    "secret-access-key",
    "secret-key",
    "session-token",
    "sig",
    "signature",
    "subscription-key",
    "token",
    "x-amz-credential",
    "x-amz-security-token",
    "x-amz-signature",
    "x-api-key",
    "x-goog-api-key",
    "x-goog-credential",
    "x-goog-signature",
)
"""What headers, parameters and members are called whose value is a credential, or says whose it is.
Case does not count, and a hyphen matches itself, an underscore or nothing."""

_NAME = "|".join(name.replace("-", "[-_]?") for name in NAMES)
_SECRET_NAME = re.compile(_NAME, re.I)

_AFTER_NAME = re.compile(
    rf"""(?ix)
    ( \b (?: {_NAME} ) ["']? \s* [:=] \s* ["']? )
    (?! \(secret\) | (?:bearer|basic|aws4-hmac-sha256|sharedkey)\s )
    [^"'\s&,;}}]{{4,}}
    """
)

_USERINFO = re.compile(r"(://)[^/@\s]+@")


def is_secret_name(name: str) -> bool:
    """Return whether a header or parameter of this name holds a credential."""
    return _SECRET_NAME.fullmatch(name) is not None


def public_url(url: str) -> str:
    """Return the URL without user, password and secret parameters, to be logged and landed.

    What cannot be parsed may hold a secret anywhere and is not repeated.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(":")
    query = "&".join(
        p for p in parts.query.split("&") if p and not is_secret_name(unquote_plus(p.split("=")[0]))
    )
    return urlunsplit((parts.scheme, host, parts.path, query, ""))


def redact(text: str) -> str:
    """Replace what is or may be a credential. What remains is as it was."""
    for name, value in os.environ.items():
        if len(value) >= MIN_LENGTH and _SECRET_VARIABLE.search(name.upper()):
            text = text.replace(value, REPLACEMENT)
    text = _AFTER_SCHEME.sub(rf"\1 {REPLACEMENT}", text)
    text = _AFTER_NAME.sub(rf"\1{REPLACEMENT}", text)
    return _USERINFO.sub(rf"\1{REPLACEMENT}@", text)
