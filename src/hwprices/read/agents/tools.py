"""The tools of the server. They read a release and change nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read import citation, past
from hwprices.read import explain as tracing
from hwprices.read.agents.answer import (
    MAX_TOKENS,
    Answer,
    Figure,
    age,
    answer,
    cited,
    headline,
    known,
    line,
    number,
    price_figure,
    price_line,
    tokens_of,
)
from hwprices.read.agents.catalog import Tool
from hwprices.read.currency import read_rates
from hwprices.read.dataset import Dataset
from hwprices.read.export.cells import check_names, to_json
from hwprices.read.find import compare as comparing
from hwprices.read.find import covers, offers, request
from hwprices.read.find import machine as machine_answers
from hwprices.read.find import search as searching
from hwprices.read.find.names import NamedMachine, ReleaseWords
from hwprices.read.find.search import ANY, EVERY_WAY, USUAL, Search
from hwprices.read.find.words import asks_for_accelerators
from hwprices.release.release import REAL
from hwprices.release.versions import default_root, resolve
from hwprices.release.wording import counted, plain, purchase, system
from hwprices.storage.store import Store

SHOWN = 6  # Results of an answer; six with citations are about 1,200 tokens
MAX_MACHINES = 5  # Machines side by side that fit an answer
Rates = Mapping[str, Any] | None


MAX_BYTES = 32 << 20
"""Largest table to keep in memory, in bytes of Parquet. On the sample, this saves a quarter (find)
to a half (device) of the CPU time of a question."""


class KeptDataset(Dataset):
    """A dataset that reads each table of up to MAX_BYTES once."""

    def __init__(self, store: Store, version: str) -> None:
        super().__init__(store, version)
        self._kept: dict[str, pl.DataFrame] = {}

    @classmethod
    def at_root(cls, root: str, version: str = "latest") -> "KeptDataset":
        """Open a release, by default at ``default_root``."""
        return cls(Store(resolve(root or default_root())), version)

    def scan(self, table: str) -> pl.LazyFrame:
        """Return a table as a lazy frame."""
        if table not in self._kept:
            rows = super().scan(table)
            if self.release.tables[table].bytes > MAX_BYTES:
                return rows
            self._kept[table] = rows.collect()
        return self._kept[table].lazy()


def find(dataset: Dataset, question: str, usd_per: Rates = None) -> Answer:
    """Find offers."""
    found = offers.answer(dataset, question, usd_per=usd_per, shown=SHOWN)
    rows, search = found.rows, found.search
    return answer(
        dataset,
        headline(rows.height, "offer", question, dataset.version)
        + ", the cheapest first"
        + ", prices of the whole machine" * bool(rows.height),
        [price_figure(row) for row in rows.head(SHOWN).iter_rows(named=True)],
        price_line,
        providers={*search.providers} or {provider for provider, _ in search.machines or ()},
        notes=found.notes,
        total=rows.height,
    )


def price(dataset: Dataset, question: str, usd_per: Rates = None) -> Answer:
    """Show the specification and prices of one machine type, or the offers of an accelerator."""
    names = ReleaseWords.of(dataset)
    search = past.understand(names, question, EVERY_WAY)
    if search.machines is None and asks_for_accelerators(search):
        return find(dataset, question, usd_per)
    search = replace(search, usd_per=read_rates(usd_per or {}))
    found = machine_answers.run(dataset, _one_machine(search, question), search)
    real = found.rows.filter(*REAL)
    usual = real.filter(searching.price_conditions(Search())) if search.os == ANY else real
    shown = usual if usual.height else real
    results = [_with_range(row) for row in _cheapest_options(shown).iter_rows(named=True)]
    notes = list(found.notes)
    if shown.height < real.height:
        notes.append(
            f"{counted(real.height - shown.height, 'price')} of other systems, licenses or tenancy:"
            " name one in the question (windows, rhel, sles …)."
        )
    unknown = found.rows.height - real.height
    notes += [f"{counted(unknown, 'price')} not known or placeholders."] * bool(unknown)
    return answer(
        dataset,
        headline(len(results), "purchase option", question, dataset.version)
        + f" of {found.machine.instance_type}, each in its cheapest region",
        results,
        price_line,
        providers=[found.machine.provider],
        notes=notes,
        about={"specification": _specification(found.specification)},
    )


def _cheapest_options(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cheapest price of each purchase option; on demand and spot first."""
    if rows.is_empty():
        return rows
    ranges = machine_answers.price_ranges(rows)
    joined = ranges.select("price_id", "regions", "highest", "saving").join(
        rows, on="price_id", maintain_order="left"
    )
    order = {"on_demand": 0, "spot": 1}
    place = pl.col("purchase_option").replace_strict(order, default=2)
    return joined.sort(place, "effective_hourly", maintain_order=True).head(2 * SHOWN)


def _with_range(row: Mapping[str, Any]) -> Figure:
    highest = row["highest"] if row["highest"] != row["effective_hourly"] else None
    more = {
        "regions": row["regions"],
        "highest_per_hour": highest,
        "saving": None if row["saving"] is None else round(row["saving"], 3) or None,
        "break_even_utilisation": _rounded(row["break_even_utilisation"]),
    }
    repeated = ("accelerators", "vcpus", "memory_gib")  # the answer has them once
    figure = {name: value for name, value in price_figure(row).items() if name not in repeated}
    return figure | known(more)


def _one_machine(search: Search, question: str) -> NamedMachine:
    machines = sorted(search.machines or ())
    if len(machines) == 1:
        return NamedMachine(*machines[0])
    if not machines:
        raise HwpricesError(
            f"{question!r} names no machine type",
            "Ask find for machines by accelerator, size or place.",
        )
    listed = ", ".join(f"{provider} {name}" for provider, name in machines[:SHOWN])
    more = f" and {len(machines) - SHOWN} more" if len(machines) > SHOWN else ""
    raise HwpricesError(
        f"{question!r} names {len(machines)} machine types: {listed}{more}",
        "Name one, or ask find.",
    )


SPECIFICATION = (
    *("family", "arch", "vcpus", "memory_gib", "accelerator_count", "accelerator_memory_gib"),
    *("accelerator_interconnect", "local_disk_gib", "network_gbps_max", "rdma"),
)
"""Columns of ``instance_types`` in the specification of a machine."""


def _specification(row: Mapping[str, Any] | None) -> Figure:
    if row is None:
        return {}
    devices = row["accelerators"] or []
    named = [device["accelerator_id"] or device["vendor_name"] for device in devices]
    return known(row, *SPECIFICATION) | known({"accelerators": named})


def compare(dataset: Dataset, question: str, equals: bool = False, usd_per: Rates = None) -> Answer:
    """Compare machine types, or accelerators."""
    names = ReleaseWords.of(dataset)
    search = request.request(names, question, usd_per=usd_per)
    beside = search.unknown_accelerators  # or machines that are named beside accelerators
    if names.accelerators_of(beside) or beside - names.with_accelerators(beside):
        raise HwpricesError(
            f"{question!r} names machine types and accelerators",
            "Compare machine types, or accelerators; find answers questions about both.",
        )
    none: frozenset[Any] = frozenset()
    others = replace(search, accelerators=none, unknown_accelerators=none, usd_per={})
    if search.accelerators and others == USUAL and not equals:
        return _compared_devices(dataset, question, sorted(search.accelerators))
    machines = [NamedMachine(*pair) for pair in search.machines or ()]
    text = question.lower()
    machines.sort(key=lambda m: (text.find(m.instance_type.lower()), m.instance_type))
    if not machines or len(machines) > MAX_MACHINES:
        raise HwpricesError(
            f"{question!r} names {len(machines)} machine types",
            f"Name two to {MAX_MACHINES}, one for its equals in other clouds, or accelerators"
            " alone; ask find for families and places.",
        )
    has_equals = equals or len(machines) == 1
    search = replace(search, machines=None, providers=frozenset())
    found = comparing.run(dataset, machines, search, equals=has_equals)
    rows = found.rows.head(SHOWN)
    return answer(
        dataset,
        headline(found.rows.height, "machine", question, dataset.version)
        + ", cheapest prices in USD per hour",
        [_compared(dataset, row) for row in rows.iter_rows(named=True)],
        _compared_line,
        providers=rows["provider"],
        notes=found.notes,
        total=found.rows.height,
    )


def _compared(dataset: Dataset, row: Mapping[str, Any]) -> Figure:
    """Return one machine of a comparison, with its cheapest prices as cited figures."""
    prices = [
        {
            "purchase": name,
            "price_per_hour": row[f"{name}_usd_per_hour"],
            "currency": "USD",
            "region": row[f"{name}_region"],
            "stale": row[f"{name}_stale"] or None,
            "price_id": row[f"{name}_price_id"],
        }
        for name in comparing.PURCHASES
        if row[f"{name}_usd_per_hour"] is not None
    ]
    sizes = known(row, "arch", "vcpus", "memory_gib", "accelerator_id", "accelerator_count")
    machine = {"machine": row["instance_type"], "provider": row["provider"]}
    return {**machine, **sizes, "prices": cited(dataset, [*map(known, prices)])}


def _compared_line(figure: Figure) -> str:
    prices = "; ".join(
        map(line("{purchase} {price_per_hour:.10g} USD/h in {region}"), figure["prices"])
    )
    return f"{figure['machine']} ({figure['provider']}): {prices or 'no price in USD'}"


def _compared_devices(dataset: Dataset, question: str, ids: Sequence[str]) -> Answer:
    options = SOLD if len(ids) <= MAX_WITH_SPOT else SOLD[:1]
    results = []
    rows = [dataset.device(accelerator_id).row(0, named=True) for accelerator_id in ids[:SHOWN]]
    for row in rows:
        offers = [offer for offer in reversed(_sold(row)) if not offer["private_host"]]
        cheapest = {o["purchase_option"]: o for o in offers if o["purchase_option"] in options}
        prices = _with_machine_prices(dataset, [*cheapest.values()])
        results.append(known(row, *COMPARED) | {"prices": cited(dataset, prices)})
    return answer(
        dataset,
        headline(len(ids), "accelerator", question, dataset.version)
        + f", cheapest {' and '.join(options).replace('_', ' ')} prices of one in USD per hour,"
        " without community hosts",
        results,
        _compared_device_line,
        providers={price["provider"] for figure in results for price in figure["prices"]},
        notes=_not_converted(rows),
        total=len(ids),
    )


MAX_WITH_SPOT = 3  # devices side by side whose spot prices fit an answer too
COMPARED = ("device_id", "memory_gb", "memory_bandwidth_gbs")


def _compared_device_line(figure: Figure) -> str:
    written = line("{purchase_option} {price_per_device_hour:.10g} USD/h, {machine} ({provider})")
    prices = "; ".join(map(written, figure["prices"]))
    return f"{figure['device_id']}: {prices or 'no price in USD'}"


def explain(dataset: Dataset, price: str) -> Answer:
    """Trace one price to the vendor's line, or recheck a citation."""
    if citation.REFERENCE.search(price):
        return _rechecked(dataset, price)
    cite = citation.cite(dataset, price.strip())
    found = tracing.explain(dataset, tracing.find_prices(dataset, cite.price_id).row(0, named=True))
    result = {
        "price_per_hour": cite.amount,
        "currency": cite.currency,
        "bought": cite.bought,
        "arithmetic": found.arithmetic,
        "flags": list(found.price["flags"]),
        "stale": found.stale or None,
        "valid_from": citation.utc_text(cite.valid_from),
        "price_id": cite.price_id,
    }
    traces = [
        {"sku": trace.sku, "page": trace.page, "fields": dict(trace.fields[:MAX_FIELDS])}
        for trace in found.traces
        if trace.fields
    ]
    return answer(
        dataset,
        str(cite),
        [known(result)],
        line("{arithmetic}"),
        providers=[cite.provider],
        notes=[] if traces else ["The vendor's line itself: its page is not kept here."],
        about={"source_url": cite.url, "vendor_lines": traces[:MAX_TRACES]},
    )


MAX_FIELDS, MAX_TRACES = 8, 2


def _rechecked(dataset: Dataset, text: str) -> Answer:
    answers = dataset.recheck(text)[:SHOWN]
    results = [known({"status": a.status, "text": f"{a}", **a.to_dict()}) for a in answers]
    return Answer(
        f"{counted(len(answers), 'citation')} compared with release {dataset.version}",
        dataset.version,
        results,
        line("{text}"),
        not_covered=["The vendor was not asked: hwprices recheck --live does."],
    )


def history(dataset: Dataset, question: str) -> Answer:
    """List what prices were, and when."""
    intervals = past.answer(dataset, question, USUAL).rows.with_columns(valid_from=past.BEGINS)
    rows = intervals.filter(~pl.col("placeholder"))
    amount = pl.col("effective_hourly")
    values, last = amount.n_unique(), amount.sort_by("valid_from").last()
    order = [-values.cast(pl.Int64).over("price_id"), last.over("price_id")]
    ranked = rows.sort(order, nulls_last=True, maintain_order=True)
    series = ranked.partition_by("price_id", maintain_order=True)
    shown = [frame.sort("valid_from").to_dicts() for frame in series[:SHOWN]]
    return answer(
        dataset,
        headline(len(series), "price", question, dataset.version)
        + ", those that changed most often first",
        [*map(_past, shown)],
        _past_line,
        providers=[rows[0]["provider"] for rows in shown],
        notes=[] if series else ["No release has had such a price."],
        total=len(series),
    )


MAX_STEPS = 5  # last intervals of one price


def _past(rows: list[dict[str, Any]]) -> Figure:
    last = rows[-1]
    is_current = last["valid_to"] is None and last["state"] == "current"
    steps = [
        {
            "from": row["valid_from"],
            "to": row["valid_to"],
            "price_per_hour": row["effective_hourly"],
            "why": row["start_reason"],
        }
        for row in rows[-MAX_STEPS:]
    ]
    return known(
        {
            "price_per_hour": last["effective_hourly"] if is_current else None,
            "currency": last["currency"],
            "machine": last["instance_type"],
            **known(last, "provider", "region", "zone"),
            "purchase": purchase(last),
            "system": system(last),
            "intervals": [*map(known, steps)],
            "state": None if is_current else last["state"],
            **age(last["observed_last"]),
            "price_id": last["price_id"],
        }
    )


_PAST_LINE = line("{machine} ({provider} {region}), {purchase}, {currency}/h: ")


def _past_line(figure: Figure) -> str:
    steps = (
        f"{step['from']} to {step.get('to', 'now')}: {step.get('price_per_hour', 'not known')}"
        for step in figure["intervals"]
    )
    return _PAST_LINE(figure) + "; ".join(steps)


def recommend(dataset: Dataset, model: str, **options: Any) -> Answer:
    """Rank machines for a model."""
    frame = dataset.recommend(model, **options)
    ranked = frame.filter(pl.col("excluded").is_null())
    rented = ranked.filter(where="cloud").head(4)
    rows = pl.concat([rented, ranked.filter(where="local").head(2)])
    notes = [*offers.ranked_notes(dataset, rented)]
    assumed = rows["assumed"][0] if rows.height else ""
    left_out = frame.height - ranked.height
    notes += [f"{counted(left_out, 'machine')} left out: too small, too slow or without a price."]
    notes += ["Speeds that nobody measured are modeled: see basis; a range holds half of them."]
    return answer(
        dataset,
        headline(ranked.height, "machine", model, dataset.version)
        + f", the best first. Assumed: {assumed}",
        [_recommended(row) for row in rows.iter_rows(named=True)],
        _recommended_line,
        providers=[*map(str, rows["provider"])],
        notes=notes,
        about={"assumed": assumed},
        total=ranked.height,
    )


RANKED = (
    *("where", "provider", "region", "machine", "nodes", "purchase_option"),
    *("usd_per_million_tokens", "usd_per_million_tokens_low", "usd_per_million_input_tokens"),
    *("usd_per_million_output_tokens", "usd_per_thousand_samples", "usd", "hours"),
    *("tokens_per_second_low", "tokens_per_second_per_user", "seconds_to_first_token"),
    *("concurrency", "gco2e_per_million_tokens", "payback_hours", "basis"),
)
"""Columns of ``recommend`` in an answer."""

SIGNIFICANT = 4  # Digits of computed figures


def _rounded(value: Any) -> Any:
    value = number(value)
    return float(f"{value:.{SIGNIFICANT}g}") if isinstance(value, float) else value


def _recommended(row: Mapping[str, Any]) -> Figure:
    price = {"price_per_hour": row["usd_per_hour"], "price_id": row["price_id"]}
    if row["purchase_price_usd"] is not None:
        price = {
            "purchase_price_usd": row["purchase_price_usd"],
            "price_of": row["purchase_price_date"],
        }
    return known({**{name: _rounded(row[name]) for name in RANKED}, **price, "currency": "USD"})


_COSTS = {
    "usd_per_million_tokens": "{usd_per_million_tokens} USD per million tokens, ",
    "usd_per_thousand_samples": "{usd_per_thousand_samples} USD per thousand samples, ",
    "usd": "{usd} USD, ",
}


def _recommended_line(figure: Figure) -> str:
    cost = next((text for name, text in _COSTS.items() if name in figure), "")
    where = " ".join(figure[name] for name in ("provider", "region") if name in figure)
    return line(
        "{nodes} x ",
        "{machine}" + f" ({where})" * bool(where) + f": {cost}",
        "{price_per_hour} USD/h, {purchase_option}",
        "{purchase_price_usd} USD to buy",
        ", {basis}",
    )(figure)


SOLD = ("on_demand", "spot")  # Purchase options of a device, as offers names them


def device(dataset: Dataset, name: str) -> Answer:
    """Describe an accelerator, a CPU or a machine to buy."""
    row = dataset.device(name).row(0, named=True)
    rows = _sold(row)
    unit = "vCPU" if row["type"] == "cpu" else "device"
    return answer(
        dataset,
        f"{row['name']} ({row['device_id']}), release {dataset.version}. {unit}"
        " prices in USD per hour, the cheapest of each cloud",
        _with_machine_prices(dataset, rows[:SHOWN]),
        line(
            f"{{price_per_device_hour:.10g}} USD/h per {unit}: ",
            "{machine} ({provider} {region}), {purchase_option}",
            ", seen {seen}",
        ),
        providers=[offer["provider"] for offer in rows[:SHOWN]],
        notes=[*_not_converted([row]), *row["missing"][:3]],
        about={"device": _described(row)},
        total=len(rows),
    )


def _not_converted(devices: Sequence[Mapping[str, Any]]) -> list[str]:
    clouds = [cloud for row in devices for cloud in row["where_sold"] or []]
    others = sorted({cloud["currency"] for cloud in clouds if cloud["currency"]} - {"USD"})
    return [f"Prices in {', '.join(others)} are not converted: ask find for them."] * bool(others)


def _sold(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the offers of a device with a price in USD, the cheapest first."""
    rows = [
        {
            "provider": cloud["provider"],
            "region": cloud[f"{option}_offer"].partition("/")[0],
            "machine": cloud[f"{option}_offer"].partition("/")[2],
            "purchase_option": option,
            "price_per_device_hour": cloud[f"{option}_usd_per_hour"],
            "private_host": cloud["private_host"] or None,
        }
        for cloud in row["where_sold"] or []
        for option in SOLD
        if cloud[f"{option}_offer"] and cloud[f"{option}_usd_per_hour"] is not None
    ]
    return sorted(rows, key=lambda offer: offer["price_per_device_hour"])


DESCRIBED = (
    *("device_id", "name", "vendor", "type", "release_year", "memory_gb", "memory_bandwidth_gbs"),
    *("power_w", "power_basis", "launch_price_usd", "usd_per_year_basis", "source_url"),
    "confidence",
)
"""Columns of ``device`` from its sources."""

COMPUTED = ("machine_share_usd", "tco_usd_per_hour", "usd_per_year", "gco2e_per_hour")
"""Computed columns of ``device``, which are rounded."""


def _described(row: Mapping[str, Any]) -> Figure:
    rates = {
        f"{rate['dtype']}_dense": f"{plain(rate['rate'])} {rate['unit']}"
        for rate in row["dense_rates"] or []
    }
    tokens = [
        {"model": price["model"], "usd": _rounded(price["usd"]), "basis": price["basis"]}
        for price in (row["usd_per_million_tokens"] or [])[:2]
    ]
    computed = {name: _rounded(row[name]) for name in COMPUTED}
    lists = {"rates": rates, "usd_per_million_tokens": tokens}
    return known(row, *DESCRIBED) | known({**computed, **lists})


def _with_machine_prices(dataset: Dataset, rows: list[dict[str, Any]]) -> list[Figure]:
    """Return offers of a device as figures with the prices of their machines."""
    machines = frozenset((row["provider"], row["machine"]) for row in rows)
    sold = dataset.scan("offers").filter(searching.pairs("instance_type", machines)).collect()
    figures = []
    for row in rows:
        offer = sold.filter(
            provider=row["provider"], region=row["region"], instance_type=row["machine"]
        ).row(0, named=True)
        price = {
            "price_per_hour": offer[f"{row['purchase_option']}_usd_per_hour"],
            "price_id": offer[f"{row['purchase_option']}_price_id"],
        }
        figures.append(known({**row, "currency": "USD", **price}))
    return figures


def coverage(dataset: Dataset, question: str = "") -> Answer:
    """List the clouds and regions with prices, and their ages."""
    search = request.request(ReleaseWords.of(dataset), question)
    regions = covers.coverage(dataset)
    if search.providers:
        regions = regions.filter(pl.col("provider").is_in(sorted(search.providers)))
    if search.regions is not None:
        regions = regions.filter(searching.pairs("region", search.regions))
    priced = regions.filter(pl.col("prices") > 0)
    few = bool(search.providers or search.regions is not None)
    rows = priced if few else covers.by_provider(regions)
    made = answer(
        dataset,
        f"{regions.height} regions known, {priced.height} with prices"
        + f" for {question!r}" * bool(question.strip())
        + f", release {dataset.version}",
        [_covered(dataset, row) for row in rows.iter_rows(named=True)],
        _covered_line,
        providers=search.providers,
    )
    never = "Tax, storage, network traffic, support, negotiated discounts, free capacity."
    return replace(made, not_covered=[*made.not_covered, never])


COVERED = (
    *("provider", "regions", "regions_with_prices", "region", "country", "machine_types"),
    *("prices", "currencies", "observed_from", "observed_to"),
)
"""Columns of ``coverage``, by region or by provider."""


def _covered(dataset: Dataset, row: Mapping[str, Any]) -> Figure:
    entry = dataset.release.providers.get(row["provider"])
    origin = "recording" if entry and entry.origin == "sample" else "live"
    sheet = (entry is not None and entry.price_sheet) or None
    covered = {name: row[name] for name in COVERED if name in row}
    return known({**covered, "origin": origin, "price_sheet": sheet})


def _covered_line(figure: Figure) -> str:
    place = "{region}" if "region" in figure else "{regions_with_prices} of {regions} regions"
    parts = ("{provider} ", place, ": {prices:,} prices, newest of ")
    return line(*parts)(figure) + str(figure.get("observed_to", "never"))


SQL_MEMORY, SQL_SECONDS, SQL_ROWS = "2GB", 20.0, 40


def sql(dataset: Dataset, query: str) -> Answer:
    """Run a query in the locked DuckDB.

    Raises:
        HwpricesError: the query is wrong or refused, takes too long, or a row is too long.
    """
    from hwprices.read import sql as asking

    connection = dataset.locked_duckdb(SQL_MEMORY)
    with (
        connection,
        asking.clear_errors(dataset.tables),
        asking.bounded(connection, SQL_SECONDS, SQL_MEMORY),
    ):
        asking.check(connection, query)
        found = connection.execute(query)
        columns = [column[0] for column in found.description or ()]
        check_names(columns)
        rows = found.fetchmany(SQL_ROWS + 1)
    results = [
        {name: number(value) for name, value in zip(columns, row, strict=True)}
        for row in rows[:SQL_ROWS]
    ]
    more = [f"Rows after the first {SQL_ROWS}: count them, or use limit and offset."]
    made = Answer(
        f"{counted(len(results), 'row')}, release {dataset.version}",
        dataset.version,
        results,
        to_json,
        not_covered=[
            *more * (len(rows) > SQL_ROWS),
            "Placeholders and unknown prices are in the tables: see flags, price_reason.",
        ],
    )
    if tokens_of(made.fitted()) > MAX_TOKENS:
        raise HwpricesError(
            f"a row is longer than an answer of {MAX_TOKENS:,} tokens", "Select fewer columns."
        )
    return made


ANSWERS: Mapping[str, Callable[..., Answer]] = {
    tool.__name__: tool
    for tool in (find, price, compare, explain, history, recommend, device, coverage, sql)
}
"""The function that answers each tool of ``catalog``."""


def call(dataset: Dataset, tool: Tool, arguments: Mapping[str, Any]) -> Answer:
    """Answer a call, within MAX_TOKENS.

    Raises:
        HwpricesError: an argument is unknown, missing or not understood.
    """
    tool.check(arguments)
    return ANSWERS[tool.name](dataset, **arguments).fitted()
