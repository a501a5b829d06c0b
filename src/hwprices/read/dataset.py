"""Open a release, scan its tables as lazy frames, and answer questions.

Needs polars, duckdb and obstore, but nothing of the pipeline.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read.find.options import Names, Options, PastOptions
from hwprices.release.release import Release
from hwprices.release.versions import When, resolve
from hwprices.storage.store import Folder, Store

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

    from hwprices.read.bill import Bill
    from hwprices.read.citation import Citation, Recheck
    from hwprices.read.explain import Explanation
    from hwprices.read.export.tools.catalog import Catalog
    from hwprices.read.overlays.rules import Discounts
    from hwprices.read.ownership import Ownership


class Dataset(Release):
    """One release. ``scan(table)`` or an attribute (``dataset.prices``) returns a lazy frame."""

    def at(self, when: When) -> "Dataset":
        """Open the release that was current at a day, time or version.

        A day counts until its end, in UTC: ``data.at("2026-10-01").prices``.

        >>> data = open("sample")
        >>> data.at("2026-12-31").version == data.version
        True

        Raises:
            HwpricesError: no kept release is that old.
        """
        from hwprices.release import versions

        return Dataset(self.store, versions.version_at(versions.versions(self.store), when))

    def history(
        self, text: str = "", *, plain: bool = False, **options: Unpack[PastOptions]
    ) -> pl.DataFrame:
        """List the past prices of a machine type or accelerator, each with the time it was valid.

        >>> moves = open("sample").history("p5.48xlarge us-east", option="on_demand")
        >>> moves["hourly"].cast(pl.Float64).to_list()
        [98.32, 98.32, 55.04]

        Args:
            text: such as "p5.48xlarge", "h100 europe spot". Includes types that are gone.
            plain: only shared tenancy, without software and with licenses included, unless words or
                options name others.
            options: as in ``find``, without max_price and usd_per. ``os`` is any by default.

        Returns:
            The columns of price_history, placeholder (this release flags the price as one) and
            per_accelerator_hour.

        Raises:
            HwpricesError: a word or option is not understood (the message suggests similar ones),
                or none names a machine.
        """
        from hwprices.read import past
        from hwprices.read.find.search import EVERY_WAY

        usual = past.PLAIN if plain else EVERY_WAY
        return past.answer(self, text, usual, **options).rows

    def diff(self, since: When | None = None, **options: Unpack[Options]) -> pl.DataFrame:
        """List the prices of this release that differ from the prices at an earlier time.

        ``since``: the earlier time or release; by default the previous release, which need not be
        kept. A change from or to a placeholder is neither a rise nor a fall (``change`` is
        placeholder); the placeholders of the earlier release are known only if it is kept.
        ``options``: only these prices, as in ``find``: provider, region, country, type, option,
        term, os …

        >>> moves = open("sample").diff("2025-03-31").filter(instance_type="p5.48xlarge")
        >>> moves.select("change", "change_percent").rows()
        [('price_down', -44.0195)]

        Raises:
            HwpricesError: the history does not go back so far, the time is after this release, or
                no earlier release exists.
        """
        from hwprices.read import past
        from hwprices.release import versions

        earlier = self.release.previous if since is None else since
        if earlier is None:
            raise HwpricesError(
                f"release {self.version} is the first: nothing earlier to compare it with",
                "Publish another release, then compare.",
            )
        until, at = versions.version_time(self.version), versions.instant(earlier)
        kept = [v for v in versions.versions(self.store) if versions.version_time(v) <= at]
        before = Dataset(self.store, kept[-1]) if kept else None
        return past.diff(self, at, until, before).filter(past.option_conditions(self, options))

    if TYPE_CHECKING:  # so that type checkers find misspelled names
        regions: pl.LazyFrame
        zones: pl.LazyFrame
        instance_types: pl.LazyFrame
        availability: pl.LazyFrame
        prices: pl.LazyFrame
        price_components: pl.LazyFrame
        component_prices: pl.LazyFrame
        spot_advice: pl.LazyFrame
        stock: pl.LazyFrame
        market_quantiles: pl.LazyFrame
        quarantine: pl.LazyFrame
        new_words: pl.LazyFrame
        held: pl.LazyFrame
        offers: pl.LazyFrame
        accelerators: pl.LazyFrame
        cpus: pl.LazyFrame
        cpu_families: pl.LazyFrame
        local_hardware: pl.LazyFrame
        benchmarks: pl.LazyFrame
        power_coefficients: pl.LazyFrame
        billing_terms: pl.LazyFrame
        price_history: pl.LazyFrame
        changes: pl.LazyFrame
    else:

        def __getattr__(self, name: str) -> pl.LazyFrame:
            if name.startswith("_") or name not in self.release.tables:
                raise AttributeError(f"{type(self).__name__} has no attribute or table {name!r}")
            if name == "offers":
                from hwprices.read.find.offers import leading

                return leading(self.scan(name))
            return self.scan(name)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to copy and pickle, without the connection, which cannot be pickled."""
        state = super().__getstate__()
        return {name: value for name, value in state.items() if name != "duckdb"}

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.tables})

    def __repr__(self) -> str:
        rows = ", ".join(f"{name} {entry.rows:,}" for name, entry in self.release.tables.items())
        return f"<hwprices {self.version}: {rows}>"

    @cached_property
    def duckdb(self) -> "DuckDBPyConnection":
        """A DuckDB connection with a view for each table, and access to no other file.

        The network and extensions are refused too; tables that queries create are in memory. It can
        overwrite files of the release with ``copy … to``, so run SQL of others with ``query``,
        which refuses such statements. Times are in UTC. Each thread needs its own ``cursor()``.

        >>> open("sample").duckdb.sql("select 6 * 7").fetchall()
        [(42,)]
        """
        return self.locked_duckdb()

    def locked_duckdb(self, max_memory: str = "") -> "DuckDBPyConnection":
        """Open another connection like ``duckdb``, with an optional memory limit.

        >>> open("sample").locked_duckdb("1GB").sql("select 6 * 7").fetchall()
        [(42,)]

        Args:
            max_memory: such as 4GB, or 50% of the machine's. Queries that need more fail, and write
                no temporary files. Default: DuckDB's own limit.

        Raises:
            HwpricesError: max_memory is not a size, or a table cannot be read.
        """
        from hwprices.read import sql

        return sql.open_locked(self, max_memory)

    def query(self, sql: str) -> pl.DataFrame:
        """Run a query in DuckDB's SQL, in which each table is a view, and return its rows.

        It uses the connection ``duckdb``, and refuses statements that write files. A query can read
        the tables that earlier ones created. A statement without rows returns an empty frame. Safe
        to call from several threads.

        >>> sql = "select vcpus from instance_types where instance_type = 'g6.xlarge'"
        >>> open("sample").query(sql).item()
        4

        Raises:
            HwpricesError: the query is empty, wrong or refused, or a table cannot be read.
        """
        from hwprices.read import sql as asking

        return asking.frame(self.duckdb, sql, self.tables)

    def unsafe_duckdb(self, max_memory: str = "") -> "DuckDBPyConnection":
        """Open a DuckDB connection with a view for each table, without restrictions.

        Its queries can read and write any of your files and load extensions from the network: for
        ``copy … to``, and for programs that need DuckDB's own class. Run only your own queries.
        ``max_memory``: as for ``locked_duckdb``, but queries that need more use temporary files.

        >>> sql = "select vcpus from instance_types where instance_type = 'g6.xlarge'"
        >>> open("sample").unsafe_duckdb().sql(sql).fetchall()
        [(4,)]
        """
        from hwprices.read import sql

        return sql.open_views(self, max_memory)

    def find(
        self,
        text: str = "",
        *,
        sort: str = "price",
        descending: bool = False,
        overlays: "Discounts" = None,
        **options: Unpack[Options],
    ) -> pl.DataFrame:
        """Find offers, in words or by options: one row for each price, the cheapest first.

        >>> offers = open("sample").find("8xH100 europe 1y")
        >>> offers.select("instance_type", "region", pl.col("usd_per_hour").round(2)).rows()[0]
        ('a3-highgpu-8g', 'europe-west4', Decimal('78.0700000000'))

        Args:
            text: such as "8xH100 europe 1y".
            sort: a figure: price, price_per_accelerator, memory …, or a column of the result.
            descending: the highest figure first.
            overlays: your own discounts: a file of rules, or the result of ``overlays.rules.load``.
            options: accelerator, count, vcpus, memory, local_disk, arch, type, provider, region,
                country, continent, option, term, os, tenancy, max_price, usd_per …;
                ``read.find.options.Options`` describes them.

        Raises:
            HwpricesError: a word or option is not understood; the message suggests similar ones.
        """
        from hwprices.read.find import offers

        return offers.answer(
            self, text, sort=sort, descending=descending, overlays=overlays, **options
        ).rows

    def price(
        self,
        name: str,
        *,
        overlays: "Discounts" = None,
        **options: Unpack[Options],
    ) -> pl.DataFrame:
        """Return every price of a machine type, also unknown ones, the cheapest first.

        Case and the vendor's prefix of the name do not matter: "d4s_v5". ``options`` as in
        ``find``, except that all systems and tenancies are the default.

        >>> prices = open("sample").price("d4s_v5", option="on_demand", region="westeurope")
        >>> prices.select("os", pl.col("effective_hourly").cast(float)).rows()
        [('linux', 0.23), ('windows', 0.414)]

        Raises:
            HwpricesError: there is no such machine type, or it has no price; the message states
                whether it is not sold or not in this release.
        """
        from hwprices.read.find import machine

        return machine.require_prices(machine.answer(self, name, overlays=overlays, **options))

    def compare(
        self,
        *names: str,
        equals: bool = False,
        overlays: "Discounts" = None,
        **options: Unpack[Options],
    ) -> pl.DataFrame:
        """Return one row for each machine type: its specification and cheapest prices.

        Each price has its region, whether it is stale, and its id: spot_usd_per_hour, spot_region,
        spot_stale, spot_price_id.

        ``equals``: add the most similar machine of every other provider. ``options`` as in
        ``find``.

        >>> rows = open("sample").compare("g6.xlarge", "g2-standard-4")
        >>> rows.select("instance_type", "memory_gib").rows()
        [('g6.xlarge', 16.0), ('g2-standard-4', 16.0)]

        Raises:
            HwpricesError: a name or option is not understood, or there is nothing to compare.
        """
        from hwprices.read.find.compare import compare

        return compare(self, *names, equals=equals, overlays=overlays, **options).rows

    def explain(
        self,
        price: str,
        *,
        provider: Names = None,
        region: str | None = None,
        os: str | None = None,
        purchase_option: str | None = None,
    ) -> "Explanation":
        """Trace one price back to the vendor's line.

        ``price``: a price_id, or a machine type; then the options must select exactly one price.
        The answer has the price's row (``price``), how it is computed (``arithmetic``), its parts
        (``components``), and for each SKU the landed page and the line on it (``traces``), if the
        dataset has its pages.

        >>> g6 = open("sample").explain("g6.xlarge", os="linux", purchase_option="on_demand")
        >>> g6.arithmetic
        '0.8048 USD/h, as the vendor states it'

        Raises:
            HwpricesError: there is no such price (the message states where the type has prices), or
                there are several (it names the options that distinguish them).
        """
        from hwprices.read import explain

        row = explain.find_price(
            self, price, provider, region=region, os=os, purchase_option=purchase_option
        )
        return explain.explain(self, row)

    def cite(self, text: str, **options: Unpack[Options]) -> "Citation":
        """Cite one price: a line to paste that names the vendor's page and can be rechecked.

        ``text``: a price_id, or words as in ``find``, which cite the cheapest matching price.
        ``str()`` of the answer is the line; it also writes markdown, JSON and BibTeX.

        >>> citation = open("sample").cite("p5.48xlarge us-east-1 on_demand")
        >>> citation.amount, citation.currency, citation.release
        (Decimal('55.0400000000'), 'USD', '20261126T234916Z')

        Raises:
            HwpricesError: there is no such price, or a word or option is not understood.
        """
        from hwprices.read import citation

        return citation.cite(self, text, **options)

    def recheck(self, *citations: "str | Citation") -> "list[Recheck]":
        """Compare citations with this release; each answer is SAME, MOVED, GONE or RESTATED.

        A text may contain several citations, in any format that ``cite`` writes.

        >>> data = open("sample")
        >>> [answer.status for answer in data.recheck(data.cite("p5.48xlarge on_demand"))]
        ['SAME']

        Raises:
            HwpricesError: a text has no citation.
        """
        from hwprices.read import citation

        texts = [str(text) for text in citations]
        references = [found for text in texts for found in citation.read(text)]
        return citation.recheck(self, references)

    def device(
        self,
        name: str,
        *,
        ownership: "Ownership | None" = None,
        usd_per: Mapping[str, object] | None = None,
    ) -> pl.DataFrame:
        """Describe an accelerator, a CPU or a machine to buy in one row.

        ``name``: an id, a name, or enough words of it. ``ownership``: assumptions behind
        tco_usd_per_hour. ``usd_per``: exchange rates, as in ``find``. Costs (USD per hour) and
        emissions are per accelerator, or per vCPU of a CPU; ``missing`` states why a figure is
        unknown. See ``hwprices.device``.

        >>> open("sample").device("H100 SXM").select("device_id", "memory_gb").rows()
        [('nvidia-h100-sxm5-80gb', 80.0)]

        Raises:
            HwpricesError: no device or several devices have this name, or a rate is invalid.
        """
        from hwprices.read.device import device
        from hwprices.read.ownership import DEFAULTS

        return device(self, name, ownership or DEFAULTS, usd_per or {})

    def recommend(
        self, *asked: Any, ownership: "Ownership | None" = None, **named: Any
    ) -> pl.DataFrame:
        """Rank machines for a model, to rent and to buy: one row a machine, the best first.

        Excluded machines come last, with the reason in ``excluded``; ``assumed`` lists the
        assumptions beyond the question. Columns: ``read.recommend.recommend.COLUMNS``.

        >>> import hwprices
        >>> machines = open("sample").recommend(
        ...     "llama-3.1-8b", min_tokens_per_second=50, country="netherlands", where="cloud"
        ... )
        >>> machines.select("rank", "region").row(0)
        (1, 'westeurope')

        Args:
            asked: a ``hwprices.Question``, or its fields in their order. The first is the model: a
                name (llama-3.1-70b, sdxl, whisper) or a number: 70e9, "70B".
            named: fields of the question by name.
            ownership: assumptions about machines to buy.

        Raises:
            HwpricesError: a value is out of range or does not belong to the model or workload, or
                the release has no such provider, region or country.
        """
        from hwprices.read.ownership import DEFAULTS
        from hwprices.read.recommend.recommend import recommend

        owning = ownership or DEFAULTS
        return recommend(*asked, dataset=self, ownership=owning, **named)

    def tco(
        self,
        ownership: "Ownership | None" = None,
        *,
        overlays: "Discounts" = None,
    ) -> pl.DataFrame:
        """Compare owning each machine on sale with renting one; the earliest break-even first.

        Prices are in USD, or USD per hour of use in columns named so. break_even_hours counts hours
        of use and may exceed the machine's lifetime; break_even_1y_hours and break_even_3y_hours
        compare with the cheapest commitment. Columns: ``read.ownership.BREAK_EVEN_COLUMNS``.
        ``overlays``: your own discounts on rents, as in ``find``; the rules that changed a rent are
        in cloud_overlay, cloud_1y_overlay and so on.

        >>> import hwprices
        >>> machines = open("sample").tco(hwprices.Ownership(utilisation=0.8, usd_per_kwh=0.20))
        >>> dgx = machines.filter(device_id="nvidia-dgx-h100")
        >>> dgx["break_even_hours"].round(0).to_list()
        [21119.0]
        """
        from hwprices.read.ownership import DEFAULTS, break_even

        return break_even(self, ownership or DEFAULTS, overlays=overlays)

    def bill(self, path: str | Path) -> "Bill":
        """Open a bill of a cloud, to check it against prices or to reprice its usage.

        ``path``: a file, or a folder with its parts: FOCUS 1.0 to 1.3, AWS CUR 1 and 2, Azure's
        cost export or Google's detailed export, as CSV, Parquet or JSON lines. docs/bills.md has
        examples.

        >>> open("sample").bill("no.csv")
        Traceback (most recent call last):
        hwprices.errors.HwpricesError: no.csv does not exist. Give a file or a folder of parts.

        Raises:
            HwpricesError: the path has no bill, or a file is damaged; the message names file and
                line.
        """
        from hwprices.read.bill import Bill

        return Bill(self, path)

    def coverage(self) -> pl.DataFrame:
        """Return one row for each region: the number, kinds and age of its prices.

        >>> open("sample").coverage().filter(pl.col("prices") > 0, provider="aws")["region"].item()
        'us-east-1'
        """
        from hwprices.read.find import covers

        return covers.coverage(self)

    def column_coverage(self, *providers: str) -> pl.DataFrame:
        """Count the values of each column of each table. ``providers``: count only their rows.

        >>> rows = open("sample").column_coverage("aws").filter(table="instance_types")
        >>> rows.filter(column="base_ghz")["filled"].item()
        0
        """
        from hwprices.read.find import covers

        return covers.columns(self, providers)

    def refused(self) -> pl.DataFrame:
        """Count the refused rows by provider, table and reason; ``quarantine`` has every row.

        >>> open("sample").refused().filter(provider="azure").select("reason", "rows").rows()
        [('no_size_name', 4)]
        """
        from hwprices.read.find import covers

        return covers.quarantine(self)

    def export(
        self,
        target: str | Path,
        tables: str | Sequence[str] = (),
        *,
        overlays: "Discounts" = None,
        all_columns: bool = False,
    ) -> Path:
        """Write tables to a file, and return its path.

        The suffix sets the format: .csv, .json, .parquet, .xlsx or .duckdb; .iceberg is a folder
        with an Iceberg catalog over the release's own files.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     pl.read_csv(open("sample").export(f"{folder}/cpus.csv", ["cpus"])).columns[0]
        'cpu_id'

        Raises:
            HwpricesError: see ``read.export.files.export``.
        """
        from hwprices.read.export import files

        names = [tables] if isinstance(tables, str) else tables
        return files.export(self, target, names, overlays=overlays, all_columns=all_columns)

    def export_as(
        self,
        tool: str,
        folder: str | Path,
        *,
        overlays: "Discounts" = None,
        **options: Unpack[Options],
    ) -> "Catalog":
        """Write prices as files of gpuhunt, skypilot, opencost or karpenter, into a new folder.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     made = open("sample").export_as("opencost", f"{folder}/new", type="p5.48xlarge")
        >>> made.exported, made.left_out.columns
        (1, ['provider', 'reason', 'prices'])

        Args:
            tool: gpuhunt, skypilot, opencost or karpenter.
            folder: must not exist. Its file left-out.csv counts the prices that the tool cannot
                represent, by provider and reason.
            overlays: your own discounts.
            options: only these prices, as in ``find``.

        Returns:
            How many prices were ``exported``, and the frame ``left_out``.

        Raises:
            HwpricesError: see ``read.export.tools.export_as``.
        """
        from hwprices.read.export import tools

        return tools.export_as(self, tool, folder, overlays=overlays, **options)

    def focus_sku_prices(self) -> pl.LazyFrame:
        """Return the price list with the column names of FOCUS 1.2 and 1.3, to join with exports.

        >>> "SkuPriceId" in open("sample").focus_sku_prices().collect_schema()
        True
        """
        from hwprices.read.export import files

        return files.price_list(self)

    def status(self) -> pl.DataFrame:
        """Return one row for each provider: the outcome of its last run, and the age of its tables.

        The release that comes with the program was never collected:

        >>> open("sample").status()
        Traceback (most recent call last):
        hwprices.errors.HwpricesError: ...

        Raises:
            HwpricesError: the dataset has no ``status.json``.
        """
        from datetime import UTC, datetime

        from hwprices.read import status

        return status.frame(status.read(self.store.root), datetime.now(UTC))

    def verify(self) -> list[str]:
        """List each file that is missing, altered, or not in the manifest.

        The report is not checked: ``hwprices export report`` can write it again.

        >>> open("sample").verify()
        []
        """
        from hwprices.release.release import faults

        return faults(self.store, self.release)


def open(root: str | Path, version: str = "latest") -> Dataset:
    """Open a release of the dataset at ``root``: a folder, or ``s3://``, ``gs://``, ``az://``.

    ``open("sample")`` opens the small release that comes with the package.

    >>> "price_history" in open("sample").tables
    True

    Raises:
        HwpricesError: the dataset or version does not exist or cannot be read; the message states
            what to do.
    """
    store = Store(resolve(str(root)))
    if isinstance(store, Folder):  # the program may change its working directory
        store = Store(store.path.absolute())
    return Dataset(store, version)
