"""The tools of the server, and how each answers. They read a release and change nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl

from hwprices.errors import HwpricesError
from hwprices.read import citation
from hwprices.read import explain as tracing
from hwprices.read.agents.answer import (
    MAX_TOKENS,
    Answer,
    Figure,
    age,
    cited,
    known,
    not_covered,
    number,
    of_rows,
    price_figure,
    price_line,
    tokens_of,
)
from hwprices.read.agents.catalog import Tool
from hwprices.read.currency import read_rates
from hwprices.read.export.plain_json import to_json
from hwprices.read.export.query_rows import check_names
from hwprices.read.find import compare as comparing
from hwprices.read.find import machine as machine_answers
from hwprices.read.find import offers, overview, past, request
from hwprices.read.find import search as searching
from hwprices.read.find.machines import NamedMachine
from hwprices.read.find.search import ANY, EVERY_WAY, USUAL, Search
from hwprices.read.find.vocabulary import ReleaseWords
from hwprices.read.history import intervals
from hwprices.read.recommend.question import Limits, Question, Serving
from hwprices.release.wording import counted, plain, purchase, system

if TYPE_CHECKING:
    from hwprices.read.dataset import Dataset

SHOWN = 6
"""Results of an answer at most; six with citations are about 1,200 tokens."""

MOST_MACHINES = 5
"""Machines side by side: more do not fit an answer."""


def find(dataset: "Dataset", question: str, usd_per: Mapping[str, Any] | None = None) -> Answer:
    """Find offers."""
    found = offers.answer(dataset, question, usd_per=usd_per)
    rows = found.rows.head(SHOWN)
    results = cited(dataset, [price_figure(row) for row in rows.iter_rows(named=True)])
    return Answer(
        headline=of_rows(found.rows.height, "offer", question, dataset.version)
        + ", the cheapest first"
        + ", prices of the whole machine" * bool(results),
        release=dataset.version,
        results=results,
        lines=[price_line(figure) for figure in results],
        not_covered=not_covered(dataset, _asked_clouds(found.search), found.notes),
        total=found.rows.height,
    )


def _asked_clouds(search: Search) -> set[str]:
    """Return the clouds that a question is about; none for all."""
    return {*search.providers} or {provider for provider, _ in search.machines or ()}


def price(dataset: "Dataset", question: str, usd_per: Mapping[str, Any] | None = None) -> Answer:
    """Show what one machine type has and costs."""
    names = ReleaseWords.of(dataset)
    search = past.understand(names, question, EVERY_WAY)
    search = replace(search, usd_per=read_rates(usd_per or {}))
    found = machine_answers.of_search(dataset, _one_machine(search, names, question), search)
    real = machine_answers.real_prices(found.rows)
    usual = real.filter(searching.of_prices(Search())) if search.os == ANY else real
    shown = usual if usual.height else real
    cheapest = _ways(shown)
    results = cited(dataset, [_with_range(row) for row in cheapest.iter_rows(named=True)])
    notes = list(found.notes)
    if shown.height < real.height:
        notes.append(
            f"{counted(real.height - shown.height, 'price')} of other systems, licenses or tenancy:"
            " name one in the question (windows, rhel, sles …)."
        )
    unknown = found.rows.height - real.height
    notes += [f"{counted(unknown, 'price')} not known or placeholders."] * bool(unknown)
    return Answer(
        headline=of_rows(cheapest.height, "purchase option", question, dataset.version)
        + f" of {found.machine.instance_type}, each in its cheapest region",
        release=dataset.version,
        results=results,
        lines=[price_line(figure) for figure in results],
        about={"specification": _specification(found.specification or {})},
        not_covered=not_covered(dataset, [found.machine.provider], notes),
        total=cheapest.height,
    )


def _ways(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the cheapest price of each purchase option; on demand and spot first."""
    cheapest = machine_answers.price_ranges(rows)
    if cheapest.is_empty():
        return rows.head(0)
    ranges = cheapest.select("price_id", "regions", "highest", "saving")
    order = {"on_demand": 0, "spot": 1}
    place = pl.col("purchase_option").replace_strict(order, default=2)
    joined = rows.join(ranges, on="price_id", maintain_order="left")
    return joined.sort(place, "effective_hourly", maintain_order=True).head(2 * SHOWN)


def _with_range(row: Mapping[str, Any]) -> Figure:
    highest = row["highest"] if row["highest"] != row["effective_hourly"] else None
    more = {
        "regions": row["regions"],
        "highest_per_hour": highest,
        "saving": None if row["saving"] is None else round(row["saving"], 3) or None,
        "break_even_utilisation": _rounded(row["break_even_utilisation"]),
    }
    figure = price_figure(row)
    for name in ("accelerators", "vcpus", "memory_gib"):
        figure.pop(name, None)
    return figure | known(more)


def _one_machine(search: Search, names: ReleaseWords, question: str) -> NamedMachine:
    """Return the machine type that a question is about.

    Raises:
        HwpricesError: it names none, or several.
    """
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


def _specification(row: Mapping[str, Any]) -> Figure:
    """Return what a machine has."""
    names = (
        "family",
        "arch",
        "vcpus",
        "memory_gib",
        "accelerator_count",
        "accelerator_memory_gib",
        "accelerator_interconnect",
        "local_disk_gib",
        "network_gbps_max",
        "rdma",
    )
    devices = [
        device["accelerator_id"] or device["vendor_name"]
        for device in row.get("accelerators") or []
    ]
    return known({**{name: row.get(name) for name in names}, "accelerators": devices})


def compare(
    dataset: "Dataset",
    question: str,
    equals: bool = False,
    usd_per: Mapping[str, Any] | None = None,
) -> Answer:
    """Compare machine types."""
    names = ReleaseWords.of(dataset)
    search = request.request(names, question, usd_per=usd_per)
    machines = [NamedMachine(*pair) for pair in search.machines or ()]
    text = question.lower()
    machines.sort(key=lambda one: (text.find(one.instance_type.lower()), one.instance_type))
    if not machines or len(machines) > MOST_MACHINES:
        raise HwpricesError(
            f"{question!r} names {len(machines)} machine types",
            f"Name two to {MOST_MACHINES}, or one for its equals in other clouds; ask find for"
            " families and accelerators.",
        )
    has_equals = equals or len(machines) == 1
    search = replace(search, machines=None, providers=frozenset())
    found = comparing.of_search(dataset, machines, search, equals=has_equals)
    rows = found.rows.head(SHOWN).to_dicts()
    results, lines = [], []
    for row in rows:
        results.append(_compared(dataset, row))
        lines.append(_compared_line(results[-1]))
    return Answer(
        headline=of_rows(found.rows.height, "machine", question, dataset.version)
        + ", cheapest prices in USD per hour",
        release=dataset.version,
        results=results,
        lines=lines,
        not_covered=not_covered(dataset, [row["provider"] for row in rows], found.notes),
        total=found.rows.height,
    )


def _compared(dataset: "Dataset", row: Mapping[str, Any]) -> Figure:
    """Return one machine of a comparison, with its cheapest prices as cited figures."""
    prices = []
    for name in comparing.PURCHASES:
        if row[f"{name}_usd_per_hour"] is not None:
            prices.append(
                known(
                    {
                        "purchase": name,
                        "price_per_hour": row[f"{name}_usd_per_hour"],
                        "currency": "USD",
                        "region": row[f"{name}_region"],
                        "stale": row[f"{name}_stale"] or None,
                        "price_id": row[f"{name}_price_id"],
                    }
                )
            )
    specification = {
        name: row[name]
        for name in ("arch", "vcpus", "memory_gib", "accelerator_id", "accelerator_count")
    }
    return {
        "machine": row["instance_type"],
        "provider": row["provider"],
        **known(specification),
        "prices": cited(dataset, prices),
    }


def _compared_line(figure: Figure) -> str:
    prices = "; ".join(
        f"{one['purchase']} {one['price_per_hour']:.10g} USD/h in {one['region']}"
        for one in figure["prices"]
    )
    return f"{figure['machine']} ({figure['provider']}): {prices or 'no price in USD'}"


def explain(dataset: "Dataset", price: str) -> Answer:
    """Trace one price to the vendor's line, or recheck a citation."""
    if citation.REFERENCE.search(price):
        return _rechecked(dataset, price)
    cite = citation.cite(dataset, price.strip())
    found = tracing.explain(dataset, tracing.find_prices(dataset, cite.price_id).row(0, named=True))
    result = known(
        {
            "price_per_hour": cite.amount,
            "currency": cite.currency,
            "bought": cite.bought,
            "arithmetic": found.arithmetic,
            "flags": list(found.price["flags"]),
            "stale": found.stale or None,
            **age(cite.fetched_at),
            "valid_from": citation.utc_text(cite.valid_from),
            "price_id": cite.price_id,
            "citation": cite.reference,
        }
    )
    traces = [
        {"sku": trace.sku, "page": trace.page, "fields": dict(trace.fields[:MOST_FIELDS])}
        for trace in found.traces
        if trace.fields
    ]
    missing = [] if traces else ["The vendor's line itself: its page is not kept here."]
    return Answer(
        headline=str(cite),
        release=dataset.version,
        results=[result],
        lines=[found.arithmetic],
        about={"source_url": cite.url, "vendor_lines": traces[:MOST_TRACES]},
        not_covered=not_covered(dataset, [cite.provider], missing),
        total=1,
    )


MOST_FIELDS, MOST_TRACES = 8, 2


def _rechecked(dataset: "Dataset", text: str) -> Answer:
    answers = dataset.recheck(text)[:SHOWN]
    results = [known({**one.to_dict(), "reason": one.reason}) for one in answers]
    return Answer(
        headline=f"{counted(len(answers), 'citation')} compared with release {dataset.version}",
        release=dataset.version,
        results=results,
        lines=[str(one) for one in answers],
        not_covered=["The vendor was not asked: hwprices recheck --live does."],
        total=len(answers),
    )


def history(dataset: "Dataset", question: str) -> Answer:
    """List what prices were, and when."""
    found = intervals.answer(dataset, question, USUAL)
    rows = found.rows.filter(~pl.col("placeholder"))
    series = [
        one.sort("valid_from").to_dicts()
        for one in rows.partition_by("price_id", maintain_order=True)
    ]
    last = Decimal("Infinity")
    series.sort(
        key=lambda one: (
            -len({row["effective_hourly"] for row in one}),
            last if one[-1]["effective_hourly"] is None else one[-1]["effective_hourly"],
        )
    )
    results = cited(dataset, [_past(one) for one in series[:SHOWN]])
    return Answer(
        headline=of_rows(len(series), "price", question, dataset.version)
        + ", those that changed most often first",
        release=dataset.version,
        results=results,
        lines=[_past_line(one) for one in results],
        not_covered=not_covered(
            dataset,
            {row["provider"] for one in series[:SHOWN] for row in one},
            [] if series else ["No release has had such a price."],
        ),
        total=len(series),
    )


MOST_STEPS = 5
"""Intervals of one price, the last ones."""


def _past(rows: Sequence[Mapping[str, Any]]) -> Figure:
    now = rows[-1]
    is_current = now["valid_to"] is None and now["state"] == "current"
    steps = [
        known(
            {
                "from": f"{row['valid_from']:%Y-%m-%d}",
                "to": f"{row['valid_to']:%Y-%m-%d}" if row["valid_to"] else None,
                "price_per_hour": row["effective_hourly"],
                "why": row["start_reason"],
            }
        )
        for row in rows[-MOST_STEPS:]
    ]
    return known(
        {
            "price_per_hour": now["effective_hourly"] if is_current else None,
            "currency": now["currency"],
            "machine": now["instance_type"],
            "provider": now["provider"],
            "region": now["region"],
            "zone": now["zone"],
            "purchase": purchase(now),
            "system": system(now),
            "intervals": steps,
            "state": None if is_current else now["state"],
            **age(now["observed_last"]),
            "price_id": now["price_id"],
        }
    )


def _past_line(figure: Figure) -> str:
    steps = "; ".join(
        f"{step['from']} to {step.get('to', 'now')}: {step.get('price_per_hour', 'not known')}"
        for step in figure["intervals"]
    )
    return (
        f"{figure['machine']} ({figure['provider']} {figure['region']}), {figure['purchase']},"
        f" {figure['currency']}/h: {steps}"
    )


def recommend(dataset: "Dataset", model: str, **options: Any) -> Answer:
    """Rank machines for a model."""
    question = Question(
        model_parameters=model,
        **{name: options[name] for name in _fields(Question) & set(options)},
        serving=Serving(**{name: options[name] for name in _fields(Serving) & set(options)}),
        limits=Limits(**{name: options[name] for name in _fields(Limits) & set(options)}),
    )
    frame = dataset.recommend(question)
    ranked = frame.filter(pl.col("excluded").is_null())
    rented = ranked.filter(where="cloud")
    rows = [*rented.head(4).to_dicts(), *ranked.filter(where="local").head(2).to_dicts()]
    results = cited(dataset, [_recommended(row) for row in rows])
    notes = [*offers.sheet_notes(dataset, rented.head(4))] if rented.height else []
    assumed = next((row["assumed"] for row in rows), "")
    left_out = frame.height - ranked.height
    notes += [f"{counted(left_out, 'machine')} left out: too small, too slow or without a price."]
    notes += ["Speeds that nobody measured are modeled: see basis; a range holds half of them."]
    return Answer(
        headline=of_rows(ranked.height, "machine", model, dataset.version)
        + f", the best first. Assumed: {assumed}",
        release=dataset.version,
        results=results,
        lines=[_recommended_line(figure) for figure in results],
        about={"assumed": assumed},
        not_covered=not_covered(dataset, [str(row["provider"]) for row in rows], notes),
        total=ranked.height,
    )


def _fields(kind: Any) -> set[str]:
    return {one.name for one in fields(kind)} - {"serving", "limits", "model_parameters"}


RANKED = (
    "where",
    "provider",
    "region",
    "machine",
    "nodes",
    "purchase_option",
    "usd_per_million_tokens",
    "usd_per_million_tokens_low",
    "usd_per_million_input_tokens",
    "usd_per_million_output_tokens",
    "usd_per_thousand_samples",
    "usd",
    "hours",
    "tokens_per_second_low",
    "tokens_per_second_per_user",
    "seconds_to_first_token",
    "concurrency",
    "gco2e_per_million_tokens",
    "payback_hours",
    "basis",
)

SIGNIFICANT = 4
"""Digits of computed figures."""


def _rounded(value: Any) -> Any:
    """Round a computed figure to SIGNIFICANT digits."""
    if isinstance(value, float | Decimal):
        return float(f"{float(value):.{SIGNIFICANT}g}")
    return value


def _recommended(row: Mapping[str, Any]) -> Figure:
    price = {"price_per_hour": row["usd_per_hour"], "price_id": row["price_id"]}
    if row["purchase_price_usd"] is not None:
        price = {
            "purchase_price_usd": row["purchase_price_usd"],
            "price_of": f"{row['purchase_price_date']}",
        }
    return known({**{name: _rounded(row[name]) for name in RANKED}, **price, "currency": "USD"})


def _recommended_line(figure: Figure) -> str:
    names = ("usd_per_million_tokens", "usd_per_thousand_samples", "usd")
    costs = [
        f"{figure[name]} {name.replace('usd', 'USD').replace('_', ' ')}"
        for name in names
        if name in figure
    ]
    price = (
        f"{figure['price_per_hour']} USD/h, {figure['purchase_option']}"
        if "price_per_hour" in figure
        else f"{figure.get('purchase_price_usd', '?')} USD to buy"
    )
    where = " ".join(str(figure[name]) for name in ("provider", "region") if name in figure)
    machine = f"{figure.get('nodes', 1)} x {figure['machine']}" + f" ({where})" * bool(where)
    return f"{machine}: {', '.join([*costs[:1], price, figure['basis']])}"


SOLD = ("on_demand", "spot")
"""Purchase options of a device, as offers names them."""


def device(dataset: "Dataset", name: str) -> Answer:
    """Describe an accelerator, a CPU or a machine to buy."""
    row = dataset.device(name).row(0, named=True)
    sold = row["where_sold"] or []
    rows = [
        {
            "provider": one["provider"],
            "region": one[f"{option}_offer"].partition("/")[0],
            "machine": one[f"{option}_offer"].partition("/")[2],
            "purchase_option": option,
            "price_per_device_hour": one[f"{option}_usd_per_hour"],
            "private_host": one["private_host"] or None,
        }
        for one in sold
        for option in SOLD
        if one[f"{option}_offer"] and one[f"{option}_usd_per_hour"] is not None
    ]
    rows.sort(key=lambda one: one["price_per_device_hour"])
    shown = rows[:SHOWN]
    results = cited(dataset, _of_devices(dataset, shown))
    others = sorted({one["currency"] for one in sold if one["currency"]} - {"USD"})
    notes = [f"Prices in {', '.join(others)} are not converted: ask find for them."] * bool(others)
    notes += list(row["missing"])[:3]
    unit = "vCPU" if row["type"] == "cpu" else "device"
    return Answer(
        headline=f"{row['name']} ({row['device_id']}), release {dataset.version}. {unit}"
        f" prices in USD per hour, the cheapest of each cloud",
        release=dataset.version,
        results=results,
        lines=[_device_line(figure, unit) for figure in results],
        about={"device": _described(row)},
        not_covered=not_covered(dataset, [one["provider"] for one in shown], notes),
        total=len(rows),
    )


DESCRIBED = (
    "device_id",
    "name",
    "vendor",
    "type",
    "release_year",
    "memory_gb",
    "memory_bandwidth_gbs",
    "power_w",
    "power_basis",
    "launch_price_usd",
    "usd_per_year_basis",
    "source_url",
    "confidence",
)
"""Columns of ``device`` as their sources state them."""

COMPUTED = ("machine_share_usd", "tco_usd_per_hour", "usd_per_year", "gco2e_per_hour")
"""Columns of ``device`` that are computed, and rounded here."""


def _described(row: Mapping[str, Any]) -> Figure:
    rates = {
        f"{rate['dtype']}_dense": f"{plain(rate['rate'])} {rate['unit']}"
        for rate in row["dense_rates"] or []
    }
    tokens = [
        {"model": one["model"], "usd": _rounded(one["usd"]), "basis": one["basis"]}
        for one in (row["usd_per_million_tokens"] or [])[:2]
    ]
    about = {name: row[name] for name in DESCRIBED}
    computed = {name: _rounded(row[name]) for name in COMPUTED}
    return known({**about, **computed, "rates": rates, "usd_per_million_tokens": tokens})


def _of_devices(dataset: "Dataset", rows: Sequence[Mapping[str, Any]]) -> list[Figure]:
    """Return offers of a device as figures, each with the price of its machine."""
    key = ("provider", "region", "machine")
    columns = [f"{option}_{name}" for option in SOLD for name in ("usd_per_hour", "price_id")]
    sold = dataset.scan("offers").rename({"instance_type": "machine"})
    sold = sold.filter(
        searching.pairs("machine", frozenset((r["provider"], r["machine"]) for r in rows))
    )
    offers = {
        tuple(offer[name] for name in key): offer
        for offer in sold.select(*key, *columns).collect().iter_rows(named=True)
    }
    figures = []
    for row in rows:
        offer, option = offers[tuple(row[name] for name in key)], row["purchase_option"]
        price = {
            "price_per_hour": offer[f"{option}_usd_per_hour"],
            "price_id": offer[f"{option}_price_id"],
        }
        figures.append(known({**row, "currency": "USD", **price}))
    return figures


def _device_line(figure: Figure, unit: str) -> str:
    return (
        f"{figure['price_per_device_hour']:.10g} USD/h per {unit}: {figure['machine']}"
        f" ({figure['provider']} {figure['region']}), {figure['purchase_option']},"
        f" seen {figure.get('seen', '?')}"
    )


def coverage(dataset: "Dataset", question: str = "") -> Answer:
    """State which clouds and regions have prices, and how old they are."""
    search = request.request(ReleaseWords.of(dataset), question)
    regions = overview.coverage(dataset)
    if search.providers:
        regions = regions.filter(pl.col("provider").is_in(sorted(search.providers)))
    if search.regions is not None:
        regions = regions.filter(searching.pairs("region", search.regions))
    few = bool(search.providers or search.regions is not None)
    priced = regions.filter(pl.col("prices") > 0)
    rows = priced if few else overview.by_provider(regions)
    results = [_covered(dataset, row) for row in rows.iter_rows(named=True)]
    return Answer(
        headline=f"{regions.height} regions known, {priced.height} with prices"
        + f" for {question!r}" * bool(question.strip())
        + f", release {dataset.version}",
        release=dataset.version,
        results=results,
        lines=[_covered_line(figure) for figure in results],
        not_covered=[
            *not_covered(dataset, search.providers),
            "Tax, storage, network traffic, support, negotiated discounts, free capacity.",
        ],
        total=len(results),
    )


def _covered(dataset: "Dataset", row: Mapping[str, Any]) -> Figure:
    entry = dataset.release.providers.get(row["provider"])
    times = {
        name: f"{row[name]:%Y-%m-%d}" if row[name] else None
        for name in ("observed_from", "observed_to")
    }
    regions = {
        "regions": row.get("regions"),
        "regions_with_prices": row.get("regions_with_prices"),
        "region": row.get("region"),
        "country": row.get("country"),
        "machine_types": row.get("machine_types"),
    }
    return known(
        {
            "provider": row["provider"],
            **regions,
            "prices": row["prices"],
            "currencies": list(row["currencies"] or []),
            **times,
            "origin": "recording" if entry and entry.origin == "sample" else "live",
            "price_sheet": (entry is not None and entry.price_sheet) or None,
        }
    )


def _covered_line(figure: Figure) -> str:
    where = figure.get("region") or (
        f"{figure.get('regions_with_prices', 0)} of {figure.get('regions', 0)} regions"
    )
    seen = figure.get("observed_to", "never")
    return f"{figure['provider']} {where}: {figure['prices']:,} prices, newest of {seen}"


SQL_MEMORY, SQL_SECONDS, SQL_ROWS = "2GB", 20.0, 40


def sql(dataset: "Dataset", query: str) -> Answer:
    """Ask in SQL, in the locked DuckDB.

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
        asking.check_not_empty(connection, query)
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
    answer = Answer(
        headline=f"{counted(len(results), 'row')}, release {dataset.version}",
        release=dataset.version,
        results=results,
        lines=[to_json(row) for row in results],
        not_covered=[
            *more * (len(rows) > SQL_ROWS),
            "Placeholders and unknown prices are in the tables: see flags, price_reason.",
        ],
        total=len(results),
    )
    if tokens_of(answer.fitted()) > MAX_TOKENS:
        raise HwpricesError(
            f"a row is longer than an answer of {MAX_TOKENS:,} tokens", "Select fewer columns."
        )
    return answer


ANSWERS: Mapping[str, Callable[..., Answer]] = {
    one.__name__: one
    for one in (find, price, compare, explain, history, recommend, device, coverage, sql)
}
"""The function that answers each tool of ``catalog``."""


def call(dataset: "Dataset", tool: Tool, arguments: Mapping[str, Any]) -> Answer:
    """Answer a call, within MAX_TOKENS.

    Raises:
        HwpricesError: an argument is unknown, missing or not understood; the line has an example.
    """
    tool.check(arguments)
    return ANSWERS[tool.name](dataset, **arguments).fitted()
