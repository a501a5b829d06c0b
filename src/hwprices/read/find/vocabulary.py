"""Know what the words of a question may mean in one release: its machines, places and clouds."""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from hwprices.read.find import names as machine_names
from hwprices.read.find import names as place_names
from hwprices.read.find.search import pairs
from hwprices.release.release import Tables
from hwprices.specs.rules import machine_cpus

if TYPE_CHECKING:
    from hwprices.release.release import Release

PART_OF = r" \(one .*\)"
"""In the name of a GPU that shares a card, "(one GPU of two)": nobody asks for it by that."""


class ReleaseWords:
    """What the words of a question may mean in one release.

    Names of a kind are read from its tables when a word may be one: "8xH100" alone needs those of
    accelerators only, which saves two thirds of the reading.
    """

    def __init__(
        self,
        dataset: Tables,
        titles: Mapping[str, str] | None = None,
        markets: Mapping[str, str] | None = None,
    ) -> None:
        """Take a release. ``titles``: the providers' display names; ``markets``: of markets only.

        A market has rows of market_quantiles, and no machine types or prices.
        """
        self._dataset = dataset
        self._titles = titles or {}
        self.markets = markets or {}

    @classmethod
    def of(cls, dataset: "Release", tables: Tables | None = None) -> "ReleaseWords":
        """Take a release with its providers' display names.

        ``tables``: those to read in place of its own.
        """
        entries = dataset.release.providers.items()
        titles = {name: entry.title for name, entry in entries}
        markets = {name: entry.title for name, entry in entries if "market_quantiles" in entry.rows}
        return cls(tables or dataset, titles, markets)

    @cached_property
    def machines(self) -> list[machine_names.NamedMachine]:
        """Every machine type."""
        return machine_names.machines(self._dataset)

    @cached_property
    def places(self) -> list[place_names.NamedPlace]:
        """Every region."""
        return place_names.places(self._dataset)

    @cached_property
    def accelerators(self) -> Mapping[str, str]:
        """Accelerator id: its name. Those that a machine of the release has."""
        ids = self._accelerators_of_types["accelerator_id"].drop_nulls().unique().sort()
        sold = pl.LazyFrame({"accelerator_id": ids}, schema={"accelerator_id": pl.String})
        sheet = self._dataset.scan("accelerators").select("accelerator_id", "vendor", "name")
        names = sold.join(sheet, on="accelerator_id", how="left").collect()
        names = names.with_columns(pl.col("name").str.replace(PART_OF, ""))
        return {
            key: f"{maker or ''} {name or ''}"
            for key, maker, name in names.sort("accelerator_id").iter_rows()
        }

    @cached_property
    def providers(self) -> Mapping[str, str]:
        """Provider: its display name. Those that have a machine type."""
        names = dict.fromkeys(machine.provider for machine in self.machines)
        return {name: self._titles.get(name) or name for name in names}

    @cached_property
    def unknown(self) -> Mapping[tuple[str, str], str]:
        """Machines with an accelerator that has no id: the vendor's name of it."""
        unknown = self._accelerators_of_types.filter(
            pl.col("accelerator_id").is_null(), pl.col("vendor_name").is_not_null()
        ).select("provider", "instance_type", "vendor_name")
        return {(provider, name): device for provider, name, device in unknown.iter_rows()}

    @cached_property
    def cpus(self) -> Mapping[tuple[str, str], str]:
        """Machine: maker, id and microarchitecture of its CPU, those that its vendor promises."""
        key = ["provider", "instance_type"]
        columns = [*key, "family", "series", "cpu_vendor", "cpu_models"]
        types = self._dataset.scan("instance_types").select(columns).collect()
        sheet, families = (self._dataset.scan(name).collect() for name in ("cpus", "cpu_families"))
        for column in ("cpu_id", "microarchitecture"):
            types = types.join(machine_cpus(types, sheet, families, column), key, "left")
        only = pl.when(pl.col("cpu_models").list.len() == 1).then(pl.col("cpu_models").list.first())
        maker = pl.when(pl.col("cpu_id").is_null()).then("cpu_vendor")  # else the id begins with it
        texts = [maker, "cpu_id", only, "microarchitecture"]
        rows = types.select(*key, pl.concat_str(texts, separator=" ", ignore_nulls=True))
        return {(provider, name): text for provider, name, text in rows.iter_rows()}

    def kinds_of(
        self, accelerators: frozenset[str], machines: frozenset[tuple[str, str]]
    ) -> set[str]:
        """Return the kinds of accelerators, by their ids and by the machines that have them."""
        named = pl.col("accelerator_id").is_in(sorted(accelerators)).fill_null(False)
        rows = self._accelerators_of_types.filter(named | pairs("instance_type", machines))
        return set(rows["accelerator_kind"])

    @cached_property
    def countries(self) -> set[str]:
        """Codes of the countries that have a region."""
        return {place.country for place in self.places if place.country}

    @cached_property
    def _accelerators_of_types(self) -> pl.DataFrame:
        return (
            self._dataset.scan("instance_types")
            .filter(pl.col("accelerators").list.len() > 0)
            .select("provider", "instance_type", "accelerator_kind", "accelerators")
            .explode("accelerators")
            .unnest("accelerators")
            .select(
                "provider", "instance_type", "accelerator_kind", "accelerator_id", "vendor_name"
            )
            .collect()
        )
