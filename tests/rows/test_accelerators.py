"""One rule for the accelerators of a machine."""

import polars as pl
import pytest

from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.schemas.columns import Accelerators


@pytest.mark.parametrize(
    ("devices", "count", "memory_gib"),
    [
        ([], 0.0, None),
        ([(8.0, 80.0)], 8.0, 640.0),
        ([(0.125, 24.0)], 0.125, 3.0),
        ([(4.0, 16.0), (2.0, 24.0)], 6.0, 112.0),
        ([(4.0, None)], 4.0, None),
        ([(4.0, 16.0), (2.0, None)], 6.0, None),
        ([(None, 16.0)], None, None),
    ],
)
def test_totals_of_a_machine(devices, count, memory_gib):
    accelerators = [
        {"accelerator_id": "a", "vendor_name": "A", "count": number, "memory_gib": gib}
        for number, gib in devices
    ]
    frame = pl.DataFrame({"accelerators": [accelerators]}, schema={"accelerators": Accelerators})
    totals = frame.select(accelerator_totals()).row(0)
    assert totals == (count, memory_gib)
    assert str(totals[0]) != "-0.0"
