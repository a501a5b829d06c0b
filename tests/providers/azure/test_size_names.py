"""Size names, generated and real."""

from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases, optional

from hwprices.providers.azure.inventory.size_names import parse_size

LETTERS = "abcdefghijklmnopqrstuvwxyz"


@given(
    tier=st.sampled_from(["Standard", "Basic"]),
    family=st.text("ABCDEFGHLMNPVX", min_size=1, max_size=3),
    vcpus=st.integers(0, 9999),
    constrained=st.none() | st.integers(1, 999),
    features=st.text(LETTERS, max_size=5),
    middle=st.sampled_from(
        [(), ("A100",), ("H100",), ("xl", "RTXPRO6000BSE"), ("NDR", "GB200"), ("cc",), ("6",)]
    ),
    version=st.none() | st.integers(1, 20),
    promo=st.booleans(),
)
def test_the_parts_of_a_size_name_are_read_back(
    tier, family, vcpus, constrained, features, middle, version, promo
) -> None:
    name = (
        f"{tier}_{family}{vcpus}"
        + (f"-{constrained}" if constrained else "")
        + features
        + "".join(f"_{m}" for m in middle)
    )
    name += (f"_v{version}" if version is not None else "") + ("_Promo" if promo else "")
    size = parse_size(name)
    assert size is not None
    found = (size.tier, size.family, size.vcpus, size.constrained, size.features)
    assert found == (tier, family, vcpus, constrained, features)
    assert (size.middle, size.version, size.promo) == (middle, version, promo)
    assert size.series.startswith(family + features)


@given(st.text(max_size=40))
def test_any_text_is_a_size_or_none(text: str) -> None:
    size = parse_size(text)
    assert size is None or text.startswith(("Standard_", "Basic_"))


def test_endless_numbers_are_no_size() -> None:
    """Python refuses to read 5,000 digits, which would end the whole provider."""
    digits = 5_000 * "9"
    assert parse_size(f"Standard_D{digits}s_v5") is parse_size(f"Standard_E8-{digits}s_v5") is None


@cases("azure/size_names", vendor=optional)
def test_series_and_cpu_vendor(name: str, series: str, vendor: str | None) -> None:
    size = parse_size(name)
    assert size is not None
    assert (size.series, size.cpu_vendor) == (series, vendor)
