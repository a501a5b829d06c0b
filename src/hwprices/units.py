"""Units and dtypes of the whole project: money, time, hours, number formats.

Imports only polars, so that readers of a dataset need no pandera.
"""

import polars as pl

Money = pl.Decimal(20, 10)
"""Money in a published table, never a float. Ten decimals hold every vendor's list price: GCP
quotes nanos (9 decimals), AWS up to 10."""

WideMoney = pl.Decimal(38, 10)
"""Money in computations: the ten integer digits of Money are too few for some products. Cast to
Money when writing a table."""

Timestamp = pl.Datetime("us", "UTC")

HOURS_PER_YEAR = 8760
"""365 days of 24 hours. AWS amortizes reservations over 8760 hours a year, and Azure's reservation
prices divide the same way."""

HOURS_PER_MONTH = 730
"""8760 / 12. GCP and Azure quote a monthly price as 730 times the hourly one:
https://cloud.google.com/compute/all-pricing, https://azure.microsoft.com/pricing/calculator/"""

NUMBER_FORMATS = {
    "fp64": "fp64_dense_tflops",
    "fp32": "fp32_dense_tflops",
    "tf32": "tf32_dense_tflops",
    "fp16": "fp16_dense_tflops",
    "bf16": "bf16_dense_tflops",
    "fp8": "fp8_dense_tflops",
    "fp4": "fp4_dense_tflops",
    "int8": "int8_dense_tops",
}
"""Number format: column of its dense rate in the accelerator sheet, which also has a column
``<format>_support`` for each."""
