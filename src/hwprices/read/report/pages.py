"""Write the pages of accelerators and machine types.

Pages of accelerators work without scripts. The page of a machine type traces its prices to the
vendor: the arithmetic, the SKUs, the landed pages, and for the cheapest price of each purchase
option the vendor's line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from typing import Any, Literal
from urllib.parse import quote

import polars as pl

from hwprices import formulas
from hwprices.read.device import measured
from hwprices.read.explain import Explanation, components_of, sources_of
from hwprices.read.find.search import USUAL, price_conditions
from hwprices.read.report import columns, files
from hwprices.read.report.files import bundled, render
from hwprices.read.status import provider_title
from hwprices.release.landed import Source, Trace, traces
from hwprices.release.release import REAL, Release, is_private_host, scan_types
from hwprices.release.wording import purchase
from hwprices.units import NUMBER_FORMATS

Machines = Literal["all", "accelerators"]
"""Machine types with a page: all with offers, or only those with accelerators."""

MAX_NAME = 200  # characters of a file name; file systems allow 255 bytes
ON_DEMAND = "on_demand_usd_per_hour"

PRICE_HEADINGS = {
    name: columns.heading(name)
    for name in (ON_DEMAND, "spot_usd_per_hour", "best_1y_usd_per_hour", "best_3y_usd_per_hour")
}
"""Price columns of the pages of accelerators."""

SHEET = (
    *("vendor", "kind", "architecture", "form_factor", "counted_as", "release_year"),
    *("memory_gb", "memory_type", "memory_bandwidth_gbs", "interconnect", "interconnect_gbs"),
    *("tdp_w", "tdp_estimate_w", "power_limit_default_w", "measured_power_mean_w"),
    *("measured_power_max_w", "launch_price_usd", "purchase_price_usd", "embodied_kgco2e"),
)
"""Columns of accelerators on a page, besides the rates."""

MACHINE = (
    *("family", "series", "status", "retirement_date", "arch", "vcpus", "physical_cores"),
    *("memory_gib", "accelerator_kind", "accelerator_count", "accelerator_memory_gib"),
    *("accelerator_interconnect", "local_disk_gib", "local_disk_kind", "network_gbps_max"),
    *("rdma", "block_storage_gbps_baseline", "block_storage_gbps_max"),
    *("block_storage_iops_baseline", "block_storage_iops_max", "local_disk_read_iops"),
    *("local_disk_write_iops", "burstable", "bare_metal", "hypervisor"),
)
"""Columns of instance_types on a page."""


def file_name(name: str) -> str:
    """Encode a file name: bytes other than letters, digits, _, - and an inner dot become ~2f.

    ``tools/page/src/links.ts`` does the same.
    """
    encoded = re.sub(rb"[^A-Za-z0-9._-]|^\.", lambda byte: b"~%02x" % byte[0][0], name.encode())
    return encoded.decode()[:MAX_NAME]


SHARDS = 2  # Files of a provider's machine types; ``tools/page/src/links.ts`` has the same number


def shard(provider: str, instance_type: str) -> str:
    """Return the path of the data file of ``machine.html`` that contains a machine type."""
    return f"machines/{file_name(provider)}-{sum(instance_type.encode()) % SHARDS}.js"


def machine_link(provider: str, instance_type: str) -> str:
    """Return the address of the page of a machine type, from the folder of the report."""
    return f"machine.html#{quote(provider, safe='')}/{quote(instance_type, safe='')}"


@dataclass(frozen=True)
class ReportPage:
    """A file: its path below the folder of the report, and its HTML or other content."""

    path: str
    html: str | bytes

    @property
    def content(self) -> bytes:
        """The file's bytes."""
        return self.html.encode() if isinstance(self.html, str) else self.html


class ReportPages:
    """The pages of a release."""

    def __init__(self, dataset: Release, offers: pl.DataFrame) -> None:
        self.dataset = dataset
        self.offers = offers
        self.results = measured.results_of_offers(dataset, offers)
        self.descriptions = {
            table: columns.descriptions(dataset, table)
            for table in ("accelerators", "instance_types")
        }
        providers = dataset.release.providers
        self.titles = {name: provider_title(dataset.release, name) for name in providers}
        self.common = {
            "release": dataset.manifest,
            "titles": self.titles,
            "file_name": file_name,
            "machine_link": machine_link,
            "sample": all(entry.origin == "sample" for entry in providers.values()),
        }

    def accelerators(self) -> Iterator[ReportPage]:
        """Make a page for each accelerator, and their list."""
        sheet = self.dataset.scan("accelerators").sort("vendor", "name").collect()
        rows = files.records(sheet)
        for row in rows:
            name = file_name(row["accelerator_id"])
            yield ReportPage(f"accelerators/{name}.html", self._accelerator(row))
        listed = render("accelerators.html", rows=rows, up="../", **self.common)
        yield ReportPage("accelerators/index.html", listed)

    def _accelerator(self, row: Mapping[str, Any]) -> str:
        device = row["accelerator_id"]
        offers = self.offers.filter(accelerator_id=device)
        return render(
            "accelerator.html",
            up="../",
            row=row,
            facts=self._facts("accelerators", SHEET, row),
            rates=[
                (name.upper(), row.get(column), row[f"{name}_support"])
                for name, column in NUMBER_FORMATS.items()
            ],
            price_headings=list(PRICE_HEADINGS.values()),
            rent=rental_prices(offers),
            machines=machine_types(offers),
            measured=files.records(self.results.filter(accelerator_id=device)),
            **self.common,
        )

    def _facts(
        self, table: str, names: tuple[str, ...], row: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Return the known values of a row: heading, value, unit, meaning and source."""
        described = self.descriptions[table]
        return [
            {
                "heading": columns.sheet_heading(name),
                "value": row[name],
                "unit": described.get(name, {}).get("unit", "").replace("year", ""),
                "meaning": described.get(name, {}).get("description", ""),
                "source": row.get(columns.HEADINGS.get(name, {}).get("source", "")) or "",
            }
            for name in names
            if row.get(name) is not None
        ]

    def machines(self, which: Machines = "all") -> Iterator[ReportPage]:
        """Make the page of machine types, the files with their figures, and their list."""
        offers = self.offers
        if which == "accelerators":
            offers = offers.filter(pl.col("accelerator_count") > 0)
        key = ["provider", "instance_type"]
        types = {
            (row["provider"], row["instance_type"]): row
            for row in files.records(self.dataset.scan("instance_types").collect())
        }
        journeys = Explained(self.dataset, offers)
        offers = offers.sort(*key, "region")
        options = [column for column in offers.columns if columns.option_of(column)]
        heads = offers.select(*key, *DEVICE).iter_rows(named=True)
        rows = files.rows(offers.select("region", "country", "currency", *NATIVE, *options))
        by_type = groupby(zip(heads, rows, strict=True), lambda pair: [pair[0][k] for k in key])
        shards: dict[str, dict[str, Any]] = {}
        by_provider: dict[str, list[str]] = {}
        for (provider, name), group in by_type:
            pairs = list(group)
            sold = [row for _, row in pairs]
            shards.setdefault(shard(provider, name), {})[name] = {
                **self._machine(types.get((provider, name), {}), pairs[0][0]),
                "options": [(c, columns.heading(c)) for c in options if any(c in r for r in sold)],
                "offers": sold,
                "journeys": journeys.of(provider, name),
            }
            by_provider.setdefault(provider, []).append(name)
        yield ReportPage(
            "machine.html",
            render("machine.html", up="", script=bundled("machine.js"), **self.common),
        )
        for path, machines in shards.items():
            yield ReportPage(path, f'machines("{files.compressed_json(machines)}")\n')
        listed = render("machines.html", by_provider=by_provider, up="../", **self.common)
        yield ReportPage("machines/index.html", listed)

    def _machine(self, machine: Mapping[str, Any], first: Mapping[str, Any]) -> dict[str, Any]:
        """Collect the facts of a machine type that ``tools/page/src/machine.tsx`` shows."""
        return {
            "seller": self.titles.get(first["provider"], first["provider"]),
            **{name: first[name] for name in DEVICE},
            "facts": self._facts("instance_types", MACHINE, machine),
            "observed_at": machine.get("observed_at"),
            "corrections": machine.get("corrections") or [],
        }


DEVICE = ("accelerator_name", "accelerator_count", "accelerator_id")
NATIVE = ("on_demand_hourly", "on_demand_reason")  # Columns in the currency of an offer


def rental_prices(offers: pl.DataFrame) -> list[dict[str, Any]]:
    """Find the cheapest prices of one accelerator by provider, in each of PRICE_HEADINGS.

    ``offers``: of machines with the accelerator. Returns a dict for each provider, and a separate
    one for its community hosts: ``provider``, ``private_host``, and ``prices`` with a price or None
    for each heading. A price has ``amount`` (of one accelerator per hour), ``currency``, ``region``
    and ``instance_type``. It is in USD if the provider has a price in USD; otherwise the on-demand
    price is in the first other currency. Sorted: data centers first, then prices in USD, then low
    on-demand prices.
    """
    with_accelerators = offers.filter(pl.col("accelerator_count") > 0)
    lines = [
        {
            "provider": provider,
            "private_host": private_host,
            "prices": {
                heading: _cheapest(group, column) for column, heading in PRICE_HEADINGS.items()
            },
        }
        for (provider, private_host), group in with_accelerators.group_by(
            "provider", is_private_host().alias("private_host"), maintain_order=True
        )
    ]
    return sorted(lines, key=_rank)


def _rank(line: Mapping[str, Any]) -> tuple[bool, bool, bool, Decimal]:
    price = line["prices"][PRICE_HEADINGS[ON_DEMAND]]
    if price is None:
        return line["private_host"], True, True, Decimal(0)
    return line["private_host"], False, price["currency"] != "USD", price["amount"]


def _cheapest(offers: pl.DataFrame, column: str) -> dict[str, Any] | None:
    """Choose the cheapest price in USD, else on demand in the currency of the offer, else None."""
    columns = [(column, pl.lit("USD"))]
    if column == ON_DEMAND:
        columns.append(("on_demand_hourly", pl.col("currency")))
    for name, currency in columns:
        amount = formulas.divide(pl.col(name), pl.col("accelerator_count")).alias("amount")
        priced = offers.select(amount, currency.alias("currency"), "region", "instance_type")
        cheapest = priced.drop_nulls("amount").sort("currency", "amount")
        if cheapest.height:
            return cheapest.row(0, named=True)
    return None


def machine_types(offers: pl.DataFrame) -> list[dict[str, Any]]:
    """List machine types with their cheapest on-demand price and number of regions.

    ``amount`` is in ``currency``, preferably USD.
    """
    usd, native = pl.col(ON_DEMAND), pl.col("on_demand_hourly")
    currency = pl.when(usd.count() > 0).then(pl.lit("USD")).otherwise(pl.col("currency").min())
    return (
        offers.group_by("provider", "instance_type")
        .agg(
            pl.col("accelerator_count").first(),
            pl.col("vcpus").first(),
            pl.col("memory_gib").first(),
            currency.alias("currency"),
            native.filter(pl.col("currency") == currency).min().alias("amount"),
            pl.col("region").n_unique().alias("regions"),
        )
        .sort("provider", "amount", "instance_type", nulls_last=True)
        .to_dicts()
    )


PRICE_IDS = ("on_demand_price_id", "spot_price_id")  # Columns of offers with the id of a price
KEY = ["provider", "instance_type"]

OPTION = ["purchase_option", "term_months"]
"""Key of a purchase option, whose cheapest price is traced to the vendor's line."""

MAX_PAGE = 32 << 20
"""Bytes of the largest landed page, uncompressed, that a report searches for the vendor's lines. It
takes up to a second and, if it is JSON, 0.3 GB. Price lists of AWS's large regions are longer;
``hwprices explain`` searches them."""

MAX_FIELDS, MAX_FIELD = 60, 300
"""Fields of a vendor's line, and their characters. A SKU of Google has 30 fields of up to about 100
characters."""

MAX_LINE = 1000  # characters of a line without fields

SHOWN = ("bought", "region", "zone", "arithmetic", "flags", "source_url", "raw_sha256", "price_id")
"""Columns of a price on a page."""


class Explained:
    """The prices of all machine types with offers, and the vendor's lines of the cheapest ones."""

    def __init__(self, dataset: Release, offers: pl.DataFrame) -> None:
        listed = pl.concat([offers[column].drop_nulls() for column in PRICE_IDS]).unique()
        prices = _prices(dataset, offers, listed)
        self._prices = prices.partition_by(KEY, as_dict=True, maintain_order=True)
        ids = prices.select("price_id", "instance_type").to_dicts()
        components = components_of(dataset, *ids)
        self._components = components.partition_by("price_id", as_dict=True, maintain_order=True)
        self._traces = self._read(dataset, prices.filter("is_cheapest"))

    def _read(self, dataset: Release, prices: pl.DataFrame) -> dict[Source, Trace]:
        read: dict[Source, Trace] = {}
        for (provider,), group in prices.partition_by("provider", as_dict=True).items():
            rows = group.iter_rows(named=True)
            sources = {source: None for row in rows for source in self._sources(row)}
            for trace in traces(dataset.store, str(provider), sources, MAX_PAGE):
                read[trace.sku, trace.raw_sha256] = trace
        return read

    def of(self, provider: str, instance_type: str) -> dict[str, list[dict[str, Any]]]:
        """Return the prices of a machine type as JSON values; empty lists without a price.

        ``cheapest``: the cheapest price of each purchase option, for Linux on a shared machine.
        ``others``: the on-demand and spot prices of other regions. ``lines``: the vendor's line of
        each source of ``cheapest``; long lines are cut.
        """
        rows = self._prices.get((provider, instance_type), pl.DataFrame()).to_dicts()
        cheapest = [row for row in rows if row["is_cheapest"]]
        sources = {source: None for row in cheapest for source in self._sources(row)}
        return {
            "cheapest": [self._price(row) for row in cheapest],
            "others": [self._price(row) for row in rows if not row["is_cheapest"]],
            "lines": [_line(self._traces[source]) for source in sources],
        }

    def _price(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a price with its arithmetic, its purchase option in words and its SKUs."""
        components = self._components_of(row)
        words = {
            "arithmetic": Explanation(row, components, ()).arithmetic,
            "bought": purchase(row),
        }
        return {name: (row | words)[name] for name in SHOWN} | {
            "skus": [sku for sku, _ in self._sources(row)],
            "observed_at": row["observed_at"],
        }

    def _sources(self, row: dict[str, Any]) -> list[Source]:
        return sources_of(row, self._components_of(row))

    def _components_of(self, row: dict[str, Any]) -> pl.DataFrame:
        return self._components.get((row["price_id"],), pl.DataFrame())


def _line(trace: Trace) -> dict[str, Any]:
    return {
        "sku": trace.sku,
        "state": trace.state,
        "line": (trace.line or "")[:MAX_LINE],
        "fields": [(name, value[:MAX_FIELD]) for name, value in trace.fields[:MAX_FIELDS]],
    }


def _prices(dataset: Release, offers: pl.DataFrame, listed: pl.Series) -> pl.DataFrame:
    """Read the prices with ``listed`` ids, and the cheapest of each purchase option (is_cheapest).

    These machine types may have millions of prices. Therefore the cheapest ones are found with few
    columns first.
    """
    col = pl.col
    machines = offers.select(KEY).unique()
    prices = scan_types(dataset, "prices", set(machines["instance_type"]))
    prices = prices.join(machines.lazy(), on=KEY, how="semi")
    on_demand = col.purchase_option == "on_demand"
    order = ["effective_hourly", "region", "price_id"]
    cheapest = (
        prices.filter(*price_conditions(USUAL), *REAL)
        .select(*KEY, *OPTION, *order)
        .collect(engine="streaming")
        .sort(order)
        .unique([*KEY, *OPTION], keep="first", maintain_order=True)["price_id"]
    )
    wanted = pl.concat([listed, cheapest]).unique()
    return (
        prices.filter(col.price_id.is_in(wanted.implode()))
        .with_columns(is_cheapest=col.price_id.is_in(cheapest.implode()))
        .collect(engine="streaming")
        .sort(~on_demand, col.purchase_option != "spot", *OPTION, *order)
    )
