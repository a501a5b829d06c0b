"""Read a downloaded body as JSON before it is landed.

A page that is none, such as an empty list or an error in JSON, must not replace the last good one.
"""

from typing import Any

from hwprices.errors import FetchError
from hwprices.landing import strict_json
from hwprices.landing.download import Downloaded, public_url
from hwprices.landing.secrets import redact


def read_json(body: Downloaded) -> Any:
    """Read the content of a body.

    Raises:
        FetchError: it is not JSON; names the address.
    """
    try:
        return strict_json.loads(body.read())
    except ValueError as error:
        raise other_format(body, f"is not JSON ({error})") from None


def read_object(body: Downloaded, member: str) -> dict[str, Any]:
    """Read a body that is an object with a list that is not empty.

    Raises:
        FetchError: it is something else, or the list ``member`` is empty or missing.
    """
    content = read_json(body)
    listed = content.get(member) if isinstance(content, dict) else None
    if not isinstance(listed, list) or not listed:
        raise other_format(body, f"has no list of {member}")
    return dict(content)


def read_list(body: Downloaded) -> list[Any]:
    """Read a body that is a list of objects.

    Raises:
        FetchError: it is something else, or has no object.
    """
    content = read_json(body)
    if not isinstance(content, list) or not any(isinstance(item, dict) for item in content):
        raise other_format(body, "is not a list of objects")
    return content


def other_format(body: Downloaded, problem: str) -> FetchError:
    """Make the error of a body that is not what the vendor's format says.

    ``problem`` may quote the body; credentials are taken out.
    """
    return FetchError(
        f"{public_url(body.url)} {redact(problem)}",
        "The vendor's format has changed, or the endpoint setting is wrong.",
    )
