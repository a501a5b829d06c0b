"""Find environment variables that are spelled like a setting and are none."""

import difflib
import os
import re
from collections.abc import Iterable

from hwprices import providers
from hwprices.settings import describe

PREFIX = "HWPRICES_"

OTHERS = {
    "HWPRICES_DASK_SCHEDULER",  # flows/collect.py
    "HWPRICES_NIGHTLY",  # tests/helpers/nightly.py
    "HWPRICES_NOTIFY_URL",  # cli/deploy.py
    "HWPRICES_OVERLAYS",  # cli/filters.py
    "HWPRICES_REQUIRE_SHARED",  # tests/conftest.py
    "HWPRICES_STORE_KEY_ID",  # storage/bucket_options.py
    "HWPRICES_STORE_SECRET_KEY",
}
"""Variables that are no fields of a settings class, and where each is read."""

_OF_KUBERNETES = re.compile(r".*_(?:SERVICE_HOST|SERVICE_PORT(?:_.+)?|PORT(?:_\d+_.+)?)")
"""Variables that Kubernetes makes in every container for a service, whose name may begin so:
https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables."""


def unknown_variables(names: Iterable[str] | None = None) -> list[tuple[str, str]]:
    """List variables beginning with HWPRICES_ that nothing reads: a misspelt one has no effect.

    Args:
        names: the variables that are set; without it those of the environment.

    Returns:
        each with the settings that are spelled alike, or where all of them are listed.
    """
    own = (setting for each in providers.names() for setting in providers.get(each).own_settings)
    known = OTHERS | {name for name, _, _ in (*describe(), *own)}
    is_set = set(os.environ if names is None else names)
    return [
        (name, _remedy(name, sorted(known)))
        for name in sorted(is_set - known)
        if name.startswith(PREFIX) and not _OF_KUBERNETES.fullmatch(name)
    ]


def _remedy(name: str, known: list[str]) -> str:
    word, words = name.removeprefix(PREFIX), [one.removeprefix(PREFIX) for one in known]
    if alike := difflib.get_close_matches(word, words, n=1, cutoff=providers.ALIKE):
        return f"Did you mean {PREFIX}{alike[0]}?"
    return "hwprices refresh --help lists the settings."
