"""Read figures written in words: no text is an error, and no number is invented."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.cases import cases, number, optional

from hwprices.providers.aws import responses

figures = st.decimals(min_value="0.001", max_value=10_000_000, places=3, allow_nan=False)
READERS = [
    responses.memory_gib,
    responses.network_gbps,
    responses.clock_ghz,
    responses.count,
    responses.disks,
]


@pytest.mark.parametrize("reader", READERS)
@given(text=st.text(max_size=40) | st.none())
def test_any_text_is_read_or_is_none(reader, text):
    value = reader(text)
    assert value is None or isinstance(value, responses.Disks) or value > 0


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("part", ["9", "1,", " ", "1 x ", "1 GB "])
def test_endless_words_hold_no_figure(reader, part):
    """Python refuses to read 5,000 digits, and a rule that searches them takes minutes."""
    assert reader("1" + 400_000 * part) is None


@given(figure=figures)
def test_memory_and_network_come_back_as_written(figure):
    assert responses.memory_gib(f"{figure:,} GiB") == pytest.approx(float(figure))
    assert responses.memory_gib(f"{figure} MiB") == pytest.approx(float(figure) / 1024)
    assert (
        responses.network_gbps(f"Up to {figure} Gigabit")
        == responses.network_gbps(f"{figure} Gigabit")
        == pytest.approx(float(figure))
    )
    assert responses.clock_ghz(f"Up to {figure} GHz") == pytest.approx(float(figure))


@given(cards=st.integers(1, 64), figure=figures)
def test_cards_multiply(cards, figure):
    assert responses.network_gbps(f"{cards}x {figure} Gigabit") == pytest.approx(
        cards * float(figure)
    )


@given(
    count=st.integers(1, 64),
    size=st.integers(1, 100_000),
    kind=st.sampled_from(["SSD", "HDD", "NVMe SSD"]),
)
def test_disks_multiply_and_are_decimal_gigabytes(count, size, kind):
    value = responses.disks(f"{count} x {size} {kind}")
    assert value.number == count
    assert value.gib == pytest.approx(count * size * 1e9 / 2**30)
    assert value.kind == {"SSD": "ssd", "HDD": "hdd", "NVMe SSD": "nvme_ssd"}[kind]


@cases("aws/storage", gib=number, number=int, kind=optional)
def test_storage_as_price_lists_write_it(text, gib, number, kind):
    value = responses.disks(text)
    assert (round(value.gib, 2), value.number, value.kind) == (gib, number, kind)


@pytest.mark.parametrize("text", ["NA", "", "Moderate", "Low to Moderate", "Variable", "EBS"])
def test_words_without_a_figure_give_none(text):
    assert responses.network_gbps(text) is None
    assert responses.memory_gib(text) is None


@cases("aws/generations", generation=optional)
def test_generation_is_the_first_number_of_the_family(family, generation):
    assert responses.generation(family) == generation


@cases("aws/processors", vendor=optional, arch=optional)
def test_the_cpu_tells_the_instruction_set_since_64_bit_does_not(processor, vendor, arch):
    assert responses.cpu_vendor(processor) == vendor
    assert responses.arch(processor) == arch


def test_processors_that_are_not_promised_are_a_list():
    found = responses.processors("Intel Xeon 8375C (Ice Lake) or AMD EPYC 7R13")
    assert found == ["Intel Xeon 8375C (Ice Lake)", "AMD EPYC 7R13"]
    assert responses.processors("Variable") == []
