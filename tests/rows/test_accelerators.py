"""One rule for the accelerators of a machine."""

import json

import polars as pl
from tests.helpers.cases import cases, number

from hwprices.rows.vendor_rows import accelerator_totals
from hwprices.schemas.columns import Accelerators


@cases("rows/accelerator_totals", devices=json.loads, count=number, memory_gib=number)
def test_totals_of_a_machine(devices, count, memory_gib):
    accelerators = [
        {"accelerator_id": "a", "vendor_name": "A", "count": number, "memory_gib": gib}
        for number, gib in devices
    ]
    frame = pl.DataFrame({"accelerators": [accelerators]}, schema={"accelerators": Accelerators})
    totals = frame.select(accelerator_totals()).row(0)
    assert totals == (count, memory_gib)
    assert str(totals[0]) != "-0.0"
