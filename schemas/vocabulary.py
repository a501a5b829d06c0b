"""The codes that columns may have, each with a sentence that explains it.

Imports only the standard library, so all parts of the project can use it. The models refuse any
other code, and the data dictionary prints the sentences. Declare a new code here first.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, eq=False)
class Vocabulary(Mapping[str, str]):
    """The allowed values of a column: a mapping from value to sentence.

    ``patterns`` maps regular expressions to sentences, for values that contain a number or a name.
    ``joined``: a cell may hold several values, separated by commas.
    """

    name: str
    sentences: Mapping[str, str]
    patterns: Mapping[str, str] = field(default_factory=dict)
    joined: bool = False

    def __getitem__(self, value: str) -> str:
        return self.sentences[value]

    def __iter__(self) -> Iterator[str]:
        return iter(self.sentences)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def closed(self) -> bool:
        """Whether only the listed values are allowed: no patterns, and one value in a cell."""
        return not self.patterns and not self.joined

    def regex(self) -> str:
        """Return a regular expression that matches exactly the allowed cells."""
        one = "|".join([*(re.escape(value) for value in self.sentences), *self.patterns])
        return f"^(?:{one})(?:,(?:{one}))*$" if self.joined else f"^(?:{one})$"


# How a machine is bought

OPERATING_SYSTEMS = Vocabulary(
    "operating_systems",
    {
        "linux": "A Linux without a license fee.",
        "windows": "Windows Server.",
        "rhel": "Red Hat Enterprise Linux.",
        "rhel_ha": "Red Hat Enterprise Linux with the High Availability add-on.",
        "rhel_sap": "Red Hat Enterprise Linux for SAP.",
        "sles": "SUSE Linux Enterprise Server.",
        "sles_sap": "SUSE Linux Enterprise Server for SAP.",
        "ubuntu_pro": "Ubuntu Pro.",
    },
)

SOFTWARE = Vocabulary(
    "software",
    {
        "none": "Nothing but the operating system.",
        "sql_std": "Microsoft SQL Server Standard.",
        "sql_web": "Microsoft SQL Server Web.",
        "sql_ent": "Microsoft SQL Server Enterprise.",
    },
)

LICENSE_MODELS = Vocabulary(
    "license_models",
    {
        "included": "The price contains the licenses, or none is needed.",
        "byol": "The buyer brings the license; the price is without it.",
    },
)

TENANCIES = Vocabulary(
    "tenancies",
    {
        "shared": "The physical host may run machines of other customers.",
        "dedicated": "The physical host runs machines of one customer, paid by machine.",
        "host": "A whole physical host, whatever runs on it.",
    },
)

PURCHASE_OPTIONS = Vocabulary(
    "purchase_options",
    {
        "on_demand": "Paid for the time used, without a commitment.",
        "spot": "Spare capacity at a changing price; the vendor may take the machine back.",
        "reserved": "A reservation of one machine type for one, three or five years.",
        "savings_plan": "A commitment to spend an amount per hour (AWS, Azure).",
        "committed_use": "A committed use discount (GCP).",
        "capacity_block": "GPU machines for a fixed future period (AWS Capacity Blocks for ML).",
        "dws_calendar": "GCP's Dynamic Workload Scheduler, calendar mode: a fixed future period.",
        "dws_flex_start": "GCP's Dynamic Workload Scheduler, flex start: when there is room.",
        "dws_defined_duration": "GCP's Dynamic Workload Scheduler, for a duration given up front.",
        "low_priority": "Azure Batch and scale sets' older form of spot, at a fixed price.",
        "dev_test": "Azure's price for development and test subscriptions.",
        "serverless": "A managed service runs the container or model, billed by running time.",
    },
)

COMMITMENT_PLANS = Vocabulary(
    "commitment_plans",
    {
        "standard": "A reservation that stays with its machine type.",
        "convertible": "A reservation that can be exchanged for another machine type.",
        "compute": "A savings plan for any machine type in any region.",
        "ec2_instance": "A savings plan for one AWS machine family in one region.",
        "resource": "A committed use discount for amounts of vCPU, memory, GPU or local disk.",
        "flexible": "A committed use discount for an amount of money per hour: a share of the"
        " on-demand price.",
    },
)

COMMITMENT_COLUMNS = {
    "reserved": ("reserved", "standard"),
    "compute_savings_plan": ("savings_plan", "compute"),
    "ec2_instance_savings_plan": ("savings_plan", "ec2_instance"),
    "committed_use": ("committed_use", "resource"),
    "flexible_committed_use": ("committed_use", "flexible"),
}
"""Prefix of offers' price columns for commitments: purchase option and commitment plan. Other plans
(convertible) have no column."""

PAYMENT_OPTIONS = Vocabulary(
    "payment_options",
    {
        "none": "No commitment.",
        "no_upfront": "Nothing is paid at the start; every hour is.",
        "partial_upfront": "A part is paid at the start, the rest every hour.",
        "all_upfront": "Everything is paid at the start.",
        "monthly": "Paid in equal amounts every month.",
    },
)

BILLING_UNITS = Vocabulary(
    "billing_units",
    {
        "hour": "Billed for hours, or quoted by the hour and billed for a part of it.",
        "second": "Billed for seconds.",
        "term": "Billed once for the whole period.",
    },
)

WHEN_STOPPED = Vocabulary(
    "when_stopped",
    {
        "free": "A stopped machine is not billed.",
        "billed": "A stopped machine is billed like a running one.",
        "until_deallocated": "Billed while stopped, until the vendor takes its hardware back.",
    },
)

BASES = Vocabulary(
    "bases",
    {
        "listed": "The vendor states this number.",
        "composed": "The sum of the parts in price_components, each of which the vendor states.",
        "derived": "Follows from another price by the vendor's published rule.",
        "recomposed": "The sum of past prices of the parts that today's machine has.",
    },
)

TERMS_IN_MONTHS = (0, 12, 36, 60)
"""Terms of commitments that vendors sell; 0 without a commitment."""


# Codes that describe a price

FLAGS = Vocabulary(
    "flags",
    {
        "availability_unknown": "The vendor's lists do not say whether the machine is offered.",
        "effective_date_unreadable": "The vendor's start date of the price could not be read.",
        "grid_place_unknown": "The vendor names no place: the grid is the continent's or world's.",
        "held_back": "The value last published: the newer one is implausible, see the table held.",
        "higher_of_two_skus": "Several SKUs price a part differently: the highest price is taken.",
        "machine_unknown": "Priced, but no list of the vendor describes the machine.",
        "per_gpu_rate": "A price per GPU where the size of a machine is not said: one GPU.",
        "newest_of_two_rows": "Two rows of one meter are current at two prices: the newer holds.",
        "not_offered_here": "Priced, but the vendor's list of the region lacks the machine.",
        "placeholder": "So far below other prices that it is not a real offer.",
        "power_from_tdp_estimate": "Energy is computed from a third party's estimate of the TDP.",
        "power_partly_unknown": "Energy lacks disks or the accelerators' host: their size is"
        " not stated. It is too low.",
        "pue_industry_average": "The provider publishes no PUE: the average of all data centers.",
        "pue_provider_average": "No PUE of the region is published: that of the whole fleet.",
        "spot_above_on_demand": "The spot price is higher than the on-demand price.",
        "spot_equals_on_demand": "The spot price is the on-demand price: no spot market yet.",
        "uncommitted_parts": "Some parts of the machine cannot be committed and stay on demand.",
        "whole_host": "The price is for a whole physical host, not for one machine.",
    },
    {r"block_of_\d+_hours": "The hourly price of a Capacity Block sold for so many hours."},
)

_PRICED_PARTS = "core|ram|gpu|tpu|local_ssd|license|premium|instance|slice"

PRICE_REASONS = Vocabulary(
    "price_reasons",
    {
        "capacity_block_priced_by_offering": (
            "AWS lists capacity blocks at 0; each offering has its own price."
        ),
        "contact_sales": "The vendor states the price only on request.",
        "floor_price": "The vendor states only the lowest of several prices: from 1.82.",
        "listed_at_zero": "The vendor lists the machine at 0, which is not a price.",
        "named_by_refused_sku": "A SKU with the machine's name is not understood.",
        "no_price_on_page": "The vendor's page has no price, a dash or N/A.",
        "tpu_catalog_not_fetched": "The catalog with the prices of TPUs could not be fetched.",
        "unknown_accelerators": "Accelerators of the machine are not stated or not priced.",
        "unknown_local_ssd": "How many local disks the machine has, or their size, is unknown.",
        "unknown_series": "The series is unknown, and so is which SKUs price the machine.",
    },
    {
        rf"(?:{_PRICED_PARTS})_sku_missing": "The vendor has no SKU for this part in the region.",
        rf"(?:{_PRICED_PARTS})_sku_ambiguous": "Several SKUs price this part differently.",
    },
    joined=True,
)

ON_DEMAND_REASONS = Vocabulary(
    "on_demand_reasons",
    {
        **PRICE_REASONS.sentences,
        "not_listed": "The vendor lists no on-demand price for the machine in the region.",
    },
    PRICE_REASONS.patterns,
    joined=True,
)

QUARANTINE_REASONS = Vocabulary(
    "quarantine_reasons",
    {
        "ambiguous_sku": "Two SKUs price one part differently, or one SKU has two descriptions.",
        "another_region": "The item is of another region than the requested one.",
        "double_upfront": "The term lists more than one upfront fee.",
        "duplicate_key": "Several rows have the same key; none of them is published.",
        "impossible_figure": "The machine has a figure that no machine has.",
        "missing_hourly": "The term has an upfront fee and no hourly rate.",
        "missing_upfront": "The term lacks the upfront fee that belongs to its hourly rate.",
        "no_currency": "The item names no currency.",
        "no_date": "A day of the price cannot be read, so its validity is unknown.",
        "no_instance_type": "The line names no machine type.",
        "no_price": "The SKU states no price.",
        "no_region": "The item names no region.",
        "no_source": "The line lacks the day, the address or the license of its figure.",
        "no_size_name": "The item names no machine size.",
        "no_topology": "The TPU slice has no topology, so the number of its chips is not known.",
        "not_usd": "The SKU is priced in another currency than the one requested.",
        "placeholder": "The vendor uses this amount if there is no price.",
        "platform_disagrees": "The vendor's words and its operation code name different systems.",
        "price_not_a_number": "The price cannot be read as a number.",
        "price_not_positive": "The price is 0 or less.",
        "program_mistake": "A mistake in hwprices: the row breaks a rule of this table.",
        "refused_sku": "The price is of a SKU that was refused; it is counted with that SKU.",
        "repeated_part": "The machine lists one part, or one kind of part, twice.",
        "sku_without_name": "The SKU lacks its name, family or location.",
        "tier_not_a_number": "The amount from which the price holds cannot be read.",
        "tiered_price": "The price depends on how much is used, which no machine's price does.",
        "unknown_column": "The page has a column or member that is not known.",
        "unknown_currency": "The currency is unknown.",
        "unknown_grammar": "The description of the SKU is not understood.",
        "unknown_license": "The license model is unknown.",
        "unknown_location": "The region or place is unknown.",
        "unknown_market_option": "The line names an unknown market.",
        "unknown_operation": "The operation code of the line is unknown.",
        "unknown_option": "The purchase option is unknown.",
        "unknown_plan": "The savings plan that the rate belongs to is unknown.",
        "unknown_platform": "The operating system, software or license is unknown.",
        "unknown_price_type": "The item is sold in an unknown way.",
        "unknown_product": "The product name of the item is not understood.",
        "unknown_savings_plan": "The term or price of the item's savings plan is not understood.",
        "unknown_series": "The series or family of the machine is unknown.",
        "unknown_sku": "The price list lacks the SKU that the rate is for.",
        "unknown_tenancy": "The tenancy of the line is unknown.",
        "unknown_term": "The length of the commitment, or how it is paid, is unknown.",
        "unknown_unit": "The price is for an unknown unit.",
        "unreadable_line": "The line has a figure or text that cannot be read.",
        "unreadable_price": "The price is missing, negative or not a number.",
        "unreadable_time": "The time of the price cannot be read, so it may not be the newest.",
        "zero_price": "The price is 0, of a part that is never free or beside a price above 0.",
    },
    {
        r"check:[a-z0-9_]+(?::[a-z0-9_]+)?": (
            "The row fails this check of the table: check:<column>:<check>, or check:<check>."
        )
    },
)


# Parts of machines

COMPONENTS = Vocabulary(
    "components",
    {
        "core": "Virtual CPUs.",
        "ram": "Main memory.",
        "gpu": "GPUs.",
        "tpu": "TPU chips.",
        "local_ssd": "Local SSD.",
        "license": "The license of the operating system.",
        "premium": "A surcharge on another part.",
        "instance": "The whole machine, where it is sold as one part.",
        "slice": "GPUs together with the cores, memory and disk that belong to them.",
    },
    {rf"(?:{_PRICED_PARTS})_2": "A second SKU of the same kind of part."},
)

PARTS = Vocabulary(
    "parts",
    {
        "core": "One vCPU of a predefined machine.",
        "ram": "One GiB of memory of a predefined machine.",
        "core_custom": "One vCPU of a custom machine.",
        "ram_custom": "One GiB of memory of a custom machine.",
        "core_extended": "One vCPU of a custom machine with extended memory.",
        "ram_extended": "One GiB of memory beyond what a custom machine's vCPUs allow.",
        "premium_core": "A surcharge on each vCPU.",
        "premium_ram": "A surcharge on each GiB of memory.",
        "local_ssd": "One GiB of local SSD.",
        "instance": "A whole machine.",
        "ocpu": "One OCPU of Oracle Cloud: one core, or two of AmpereOne.",
        "local_nvme": "One decimal terabyte of local NVMe disk.",
    },
    {
        r"gpu:[a-z0-9-]+": "One GPU, named as the vendor's API does.",
        r"slice:[a-z0-9-]+": "One GPU, or the named share of one, with all that belongs to it.",
        r"tpu:v\d+[a-z]*(?:-pod)?": "One TPU chip of this generation; -pod in a slice of a pod.",
        r"sku:[!-~]+": "A Google SKU: its description without the place; /SKU if several share it.",
        r"usage:[!-~]+": (
            "What AWS meters under this usage type, without its region; a slash and the operation."
        ),
    },
)

BILLED_FOR = Vocabulary(
    "billed_for",
    {
        "hour": "One unit for one hour.",
        "month": "One unit for one month.",
        "use": "One unit used or moved once: a GB transferred, a request.",
    },
)

COMPONENT_UNITS = Vocabulary(
    "component_units",
    {
        "vcpu": "One vCPU.",
        "ocpu": "One OCPU of Oracle Cloud: one core, or two of AmpereOne.",
        "gib": "One GiB.",
        "tb": "One decimal terabyte.",
        "gpu": "One GPU.",
        "eighth_gpu": "One eighth of a GPU.",
        "chip": "One TPU chip.",
        "instance": "One machine.",
        "gb": "One gigabyte, as the vendor counts it; AWS counts 2^30 bytes.",
        "iops": "One provisioned I/O operation a second.",
        "mibps": "One MiB a second of provisioned throughput.",
        "gibps": "One GiB a second of provisioned throughput.",
        "request": "One request or I/O operation.",
        "sku_unit": "One unit of the SKU, as the vendor counts it: an address, a gateway, a TPU.",
    },
    {
        r"\d+_chips": "So many TPU chips, which the SKU prices together.",
        r"(?:vcpu|gib|gpu|eighth_gpu|chip|\d+_chips|instance)_month": (
            "A part priced by the month of 730 hours: the quantity is that of one hour."
        ),
    },
)


# Places and machine types

REGION_KINDS = Vocabulary(
    "region_kinds",
    {
        "region": "A commercial region.",
        "local_zone": "A zone near a city that belongs to a region elsewhere.",
        "wavelength": "A zone inside a telephone company's network.",
        "outpost": "The vendor's hardware in a customer's building.",
        "gov": "A region for government customers.",
        "china": "A region in China, run by a local company under its own prices.",
        "sovereign": "A region of a sovereign cloud, with accounts and prices of its own.",
        "anywhere": "No place: the vendor states one price wherever the machine is.",
        "platform": "No place: a part of the vendor's offer with prices of its own.",
    },
)

REGION_STATUSES = Vocabulary(
    "region_statuses",
    {
        "available": "Every account can use it.",
        "opt_in": "An account must enable it first.",
        "unreachable": "It did not respond.",
    },
)

ZONE_KINDS = Vocabulary(
    "zone_kinds",
    {kind: REGION_KINDS[kind] for kind in ("local_zone", "wavelength")}
    | {"zone": "An availability zone of a region."},
)

CONTINENTS = Vocabulary(
    "continents",
    {
        "africa": "Africa.",
        "asia": "Asia, the Middle East included.",
        "europe": "Europe.",
        "north_america": "North America, Mexico included.",
        "oceania": "Australia, New Zealand and the Pacific.",
        "south_america": "South America.",
    },
)

TYPE_STATUSES = Vocabulary(
    "type_statuses",
    {
        "current": "The vendor recommends it.",
        "previous": "A previous generation, still sold.",
        "retiring": "The vendor has announced its end.",
    },
)

ARCHITECTURES = Vocabulary(
    "architectures",
    {"x86_64": "64-bit x86: Intel, AMD.", "arm64": "64-bit Arm: Graviton, Axion, Cobalt, Ampere."},
)

ACCELERATOR_KINDS = Vocabulary(
    "accelerator_kinds",
    {
        "none": "No accelerator.",
        "gpu": "Graphics processors.",
        "tpu": "Google's tensor processors.",
        "neuron": "AWS Trainium and Inferentia.",
        "fpga": "Programmable logic.",
        "media": "Video transcoding cards.",
        "inference": "Processors for inference only.",
        "asic": "Other AI processors.",
    },
)

SPEC_KINDS = Vocabulary(
    "spec_kinds",
    {kind: sentence for kind, sentence in ACCELERATOR_KINDS.items() if kind != "none"}
    | {"soc": "Processor and accelerator in one chip."},
)

DISK_KINDS = Vocabulary(
    "disk_kinds",
    {
        "nvme_ssd": "Flash behind NVMe.",
        "ssd": "Flash behind another interface.",
        "hdd": "Magnetic disks.",
    },
)

SPEC_SOURCES = Vocabulary(
    "spec_sources",
    {
        "api": "The vendor's machine API.",
        "price_list": "Attributes of the price list.",
        "bundled": "The table that comes with hwprices, as of its date.",
        "name": "The vendor's naming rules: the name says the vCPUs.",
    },
)

POWER_BASES = Vocabulary(
    "power_bases",
    {
        "microarchitecture": "The coefficient of the CPU's microarchitecture.",
        "microarchitecture_elsewhere": "The mean of other providers' coefficients of the"
        " microarchitecture; the provider has none.",
        "average": "The average over CPUs; the microarchitecture or its coefficient is not known.",
    },
)


# Spec sheets

CONFIDENCE = Vocabulary(
    "confidence",
    {
        "high": "The maker states it, or two independent sources agree.",
        "medium": "One good secondary source.",
        "low": "Reports or memory only.",
    },
)

SUPPORT = Vocabulary(
    "support",
    {
        "supported": "The device computes in this format; without a rate, none is published.",
        "unsupported": "The device does not compute in this format.",
        "unknown": "No source says.",
    },
)

DISCLOSURES = Vocabulary(
    "disclosures",
    {
        "datasheet": "The maker publishes a data sheet.",
        "partial": "The maker publishes some figures.",
        "none": "The maker publishes no figures.",
    },
)

LOCAL_KINDS = Vocabulary(
    "local_kinds",
    {
        "server": "A rack server.",
        "board": "A board of accelerators for a server.",
        "workstation": "A workstation.",
        "desktop": "A desktop computer.",
        "laptop": "A laptop.",
        "mini_pc": "A small desktop computer.",
        "devkit": "A development kit.",
        "sbc": "A single-board computer.",
        "cluster": "Several machines sold or built as one.",
        "card": "A card that needs a host.",
    },
)

PRICE_KINDS = Vocabulary(
    "price_kinds",
    {
        "list": "The maker's price.",
        "street": "A shop's price.",
        "reported": "A price from the press or from notes.",
        "sum": "The sum of the parts; the notes list them.",
    },
)

POWER_COMPONENTS = Vocabulary(
    "power_components",
    {
        "vcpu": "A vCPU with its share of the server, without memory, disks and accelerators.",
        "memory": "Main memory.",
        "ssd": "Solid-state disk.",
        "hdd": "Magnetic disk.",
    },
)

POWER_UNITS = Vocabulary("power_units", {"vcpu": "One vCPU.", "gb": "One GB.", "tb": "One TB."})


# History

INTERVAL_STARTS = Vocabulary(
    "interval_starts",
    {
        "first_release": "The provider is in a release for the first time.",
        "first_collected": "Its unit was collected for the first time; it may be older.",
        "backfilled": "The first of the vendor's own past lists that were read has it; it may be"
        " older.",
        "added": "The vendor began to sell it.",
        "returned": "The vendor sells it again: an earlier interval had ended.",
        "price_changed": "The vendor changed the price.",
        "restated": "Our reading of the vendor's data changed, not the price.",
        "changed_and_restated": "Both the vendor's price and our reading changed.",
        "unclear": "Vendor's data and our reading both changed; which of them made the difference"
        " is not known.",
    },
)

INTERVAL_ENDS = Vocabulary(
    "interval_ends",
    {
        "price_changed": "The vendor changed the price.",
        "restated": "Our reading of the vendor's data changed, not the price.",
        "changed_and_restated": "Both the vendor's price and our reading changed.",
        "observed": "Later values were observed by releases, earlier ones are from the vendor's"
        " past lists.",
        "removed": "It was collected without this price: the vendor no longer lists it.",
        "unclear": "Vendor's data and our reading both changed; which of them made the difference"
        " is not known.",
    },
)

PRICE_STATES = Vocabulary(
    "price_states",
    {
        "current": "The price is in the release.",
        "not_collected": "Its source was not collected. Not a removal.",
        "refused": "The vendor's row is in quarantine, so the price is not known. Not a removal.",
        "ended": "The interval is over.",
    },
)

CHANGE_SUBJECTS = Vocabulary(
    "change_subjects",
    {
        "provider": "A provider.",
        "region": "A region in which a provider has prices.",
        "unit": "A unit of collection.",
        "instance_type": "A machine type.",
        "accelerator": "A row of the accelerator sheet.",
        "price": "One price.",
    },
)

CHANGES = Vocabulary(
    "changes",
    {
        "added": "It is new.",
        "removed": "It was collected and no longer exists.",
        "returned": "It exists again after it had been removed.",
        "price_up": "The effective hourly price is higher.",
        "price_down": "The effective hourly price is lower.",
        "placeholder": "The price was a placeholder, or is one now: neither a rise nor a fall.",
        "price_known": "The price became known; before, only a reason was stated.",
        "price_unknown": "The price is no longer known; only a reason is stated.",
        "terms_changed": "Hourly and upfront, or the reason, differ; the effective price does not.",
        "spec_changed": "The vendor states another figure for the machine type.",
        "restated": "Our reading or our sheets changed, not the vendor's data.",
        "unclear": "Vendor's data and our reading both changed; which of them made the difference"
        " is not known.",
        "first_collected": "Collected for the first time, so its prices are not called new.",
        "not_collected": "Not collected; its prices stay valid and are not removed.",
        "collected_again": "It was collected again after it had been missing.",
        "refused": "The vendor's row is in quarantine.",
    },
)

EVIDENCE = Vocabulary(
    "evidence",
    {
        "same_reading": "Program, rule sheets and corrections are the same, so the vendor's data"
        " changed.",
        "same_pages": "All pages of the provider are the same, so our reading changed.",
        "same_page": "The page that states the price is the same, so our reading changed.",
        "re_read": "Both changed; the older pages were read again with the newer program.",
        "own_sheet": "The figure is from a sheet of this project.",
        "collection": "It follows from which units were collected.",
        "none": "Both changed, and the older pages are gone.",
    },
)


# Benchmarks

SUITES = Vocabulary(
    "suites",
    {
        "mlperf_inference": "MLPerf Inference: how fast a trained model answers.",
        "mlperf_training": "MLPerf Training: how long training to a quality target takes.",
        "llama_cpp": "Results of llama.cpp, Ollama, MLC or vLLM that people published: one user.",
        "makers": "Results of a device's makers, or of those of its software, on one system.",
    },
)

SCENARIOS = Vocabulary(
    "scenarios",
    {
        "Offline": "All queries are there from the start: the highest throughput.",
        "Server": "Queries arrive at random and have a limit of latency.",
        "Interactive": "As Server, with a tighter limit.",
        "SingleStream": "One query after the other: latency.",
        "MultiStream": "Batches of queries one after the other: latency.",
        "training": "MLPerf Training has no scenarios.",
        "SingleUser": "One sequence generates tokens, alone on the device.",
        "Prompt": "One prompt is read: its tokens per second.",
    },
)

PUE_BASES = Vocabulary(
    "pue_bases",
    {
        "region": "The provider publishes it for this region.",
        "provider_average": "The provider's average over its fleet, where it publishes none.",
        "industry_average": "The average of all data centers, where the provider publishes none.",
    },
)

GRID_BASES = Vocabulary(
    "grid_bases",
    {
        "place": "The grid the region is on, or the average of its country.",
        "continent": "The average of the continent: the vendor names no place within it.",
        "world": "The average of the world: the vendor names no place.",
    },
)

RESULT_UNITS = Vocabulary(
    "result_units",
    {
        "Tokens/s": "Generated tokens per second.",
        "Samples/s": "Samples per second.",
        "Queries/s": "Queries per second within the latency limit.",
        "ms": "Milliseconds of latency.",
        "minutes": "Minutes to train.",
    },
)

DIVISIONS = Vocabulary(
    "divisions",
    {
        "closed": "The model is the benchmark's own: results can be compared.",
        "open": "The submitter may change the model.",
    },
)
