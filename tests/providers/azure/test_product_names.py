"""Names of products in the price list, generated."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from hwprices.providers.azure.prices import product_names

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPACES = st.sampled_from([" ", "\u00a0", "  ", " \u202f", "\t"])


def facts(product: str) -> tuple[str, str, str]:
    tidied = pl.DataFrame({"productName": [product]}).select(product_names.tidy("productName"))[
        "productName"
    ]
    return (
        product_names.product_facts(tidied)
        .select("product_kind", "product_os", "product_tenancy")
        .row(0)
    )


@given(
    words=st.lists(
        st.sampled_from(["Dasv5", "Esv6", "NCads", "A100", "v4", "Series", "Srs", "-series"]),
        min_size=1,
        max_size=4,
    ),
    space=SPACES,
    end=st.sampled_from(["Windows", "Win"]),
)
def test_a_name_that_ends_in_windows_is_windows(words: list[str], space: str, end: str) -> None:
    assert facts(space.join(["Virtual Machines", *words, end]))[:2] == ("vm", "windows")


@given(
    series=st.text(LETTERS, min_size=1, max_size=8),
    space=SPACES,
    joined=st.booleans(),
    start=st.sampled_from(["", "Virtual Machines "]),
    end=st.sampled_from(["", " Windows", " Linux"]),
)
def test_cloud_services_is_not_a_machine(series, space, joined, start, end) -> None:
    words = "CloudServices" if joined else f"Cloud{space}Services"
    assert facts(f"{start}{series}{space}Series{space}{words}{end}")[0] == "cloud_services"


@given(st.text(max_size=60))
def test_tidy_twice_is_tidy_once_and_every_name_has_facts(text: str) -> None:
    once = pl.DataFrame({"n": [text]}).select(product_names.tidy("n"))
    assert once.select(product_names.tidy("n")).equals(once)
    kind, os, tenancy = facts(text)
    assert kind in ("vm", "host", "cloud_services", "promo", "unknown")
    assert os
    assert tenancy in ("shared", "host")
