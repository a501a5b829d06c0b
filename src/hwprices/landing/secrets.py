"""Take credentials out of vendors' words before an error quotes them.

An error body may repeat the request with its headers. Credentials are recognised by what stands
before them, and those in this process's environment by their value.
"""

import os
import re

REPLACEMENT = "(secret)"

MIN_LENGTH = 8
"""Shorter values of variables are words like "true", which texts may hold by chance."""

_SECRET_VARIABLE = re.compile(
    r"SECRET|TOKEN|PASSW|API_?KEY|ACCESS_KEY|ACCOUNT_KEY|SAS|IDENTITY_HEADER"
)

_AFTER_SCHEME = re.compile(r"\b(bearer|basic|aws4-hmac-sha256|sharedkey)\s+[^\"'\s,;}]{4,}", re.I)

_AFTER_NAME = re.compile(
    r"""(?ix)
    ( \b (?: authorization | (?:x-goog-)?api[-_]?key | key | x-amz-security-token | x-amz-signature
      | x-amz-credential | signature | credential | sig | password | passwd | secret
      | client[-_]secret | client[-_]assertion | refresh[-_]token | access[-_]token | id[-_]token
      | token )
      ["']? \s* [:=] \s* ["']? )
    (?! \(secret\) | (?:bearer|basic|aws4-hmac-sha256|sharedkey)\s )
    [^"'\s&,;}]{4,}
    """
)

_USERINFO = re.compile(r"(://)[^/@\s]+@")


def redact(text: str) -> str:
    """Replace what is or may be a credential. What remains is as it was."""
    for name, value in os.environ.items():
        if len(value) >= MIN_LENGTH and _SECRET_VARIABLE.search(name.upper()):
            text = text.replace(value, REPLACEMENT)
    text = _AFTER_SCHEME.sub(rf"\1 {REPLACEMENT}", text)
    text = _AFTER_NAME.sub(rf"\1{REPLACEMENT}", text)
    return _USERINFO.sub(rf"\1{REPLACEMENT}@", text)
