"""What AWS sells: machine types, regions and what each region has, prices."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from hwprices.landing.pages import Landing
from hwprices.providers.aws import INSTANCE_TYPES, SPOT_ADVISOR, classify
from hwprices.specs import data_directory
from tools.fullsize.sizes import Size

GOVERNMENT, CHINA = "us-gov-west-1", "cn-north-1"
"""Regions with a price list of their own and no EC2 API for a commercial account."""

MICRO = 10**6

ITEM = re.compile(r"<item><instanceType>.*?(?=<item><instanceType>|</instanceTypeSet>)", re.DOTALL)

SYSTEM_WORDS = {
    "linux": "Linux",
    "rhel": "RHEL",
    "rhel_ha": "Red Hat Enterprise Linux with HA",
    "sles": "SUSE",
    "ubuntu_pro": "Ubuntu Pro",
    "windows": "Windows",
}
SOFTWARE_WORDS = {"none": "NA", "sql_std": "SQL Std", "sql_web": "SQL Web", "sql_ent": "SQL Ent"}
LICENSE_WORDS = {
    "included": "No License required",
    "byol": "Bring your own license",
    classify.INFRASTRUCTURE: "License Included - Infrastructure",
}

SYSTEM_PRICES = {"rhel": 14_400, "rhel_ha": 20_000, "sles": 6_250, "ubuntu_pro": 1_750}
SYSTEM_PRICES["windows"] = 46_000
SOFTWARE_PRICES = {"sql_std": 120_000, "sql_web": 16_750, "sql_ent": 375_000}
"""Millionths of a dollar for a vCPU and hour, in the vendor's order of magnitude."""

PROCESSORS = {
    "Intel": "Intel Xeon Platinum 8375C (Ice Lake)",
    "AMD": "AMD EPYC 7R13 Processor",
    "AWS": "AWS Graviton3 Processor",
}


@dataclass(frozen=True)
class Platform:
    """Operating system, software and license in the words of the price list."""

    operation: str
    system: str
    software: str
    license_model: str
    micro_per_vcpu: int

    @property
    def needs_x86(self) -> bool:
        """Windows and SQL Server run on no Arm machine."""
        return self.system == "Windows" or self.software != "NA"


BOXES = {
    "RunInstances:0002:box": "none",
    "RunInstances:0006:box": "sql_std",
    "RunInstances:0202:box": "sql_web",
    "RunInstances:0102:box": "sql_ent",
}
"""Operations of machines whose Windows and SQL Server are billed apart. The first is in AWS's list
since October 2025; the others are made up, with software that no published box line has."""


def _platforms(box_lines: int) -> list[Platform]:
    box = LICENSE_WORDS[classify.INFRASTRUCTURE]
    return [
        Platform(
            operation,
            SYSTEM_WORDS[platform.os],
            SOFTWARE_WORDS[platform.software],
            LICENSE_WORDS[platform.license_model],
            0
            if platform.license_model != "included"
            else SYSTEM_PRICES.get(platform.os, 0) + SOFTWARE_PRICES.get(platform.software, 0),
        )
        for operation, platform in classify.OPERATIONS.items()
        if operation not in BOXES
    ] + [
        Platform(operation, "Windows", SOFTWARE_WORDS[software], box, 0)
        for operation, software in list(BOXES.items())[:box_lines]
    ]


@dataclass(frozen=True)
class Machine:
    """A machine type: its description in EC2's XML, and what the price list says of it."""

    name: str
    item: str
    vcpus: int
    memory_mib: int
    is_arm: bool
    columns: Mapping[str, str]

    @property
    def family(self) -> str:
        """The name up to the dot: m5."""
        return self.name.partition(".")[0]


@dataclass(frozen=True)
class Sku:
    """What the price list sells: a machine with software, tenancy and state of its capacity."""

    code: str
    machine: Machine
    platform: Platform
    tenancy: str
    usage: str
    capacity: str
    micro: int
    """On demand, in millionths of a dollar an hour."""


CAPACITIES = (
    ("Used", "BoxUsage", "DedicatedUsage"),
    ("UnusedCapacityReservation", "UnusedBox", "UnusedDed"),
    ("AllocatedCapacityReservation", "Reservation", "DedicatedRes"),
)
"""CapacityStatus, and the usage types of shared and dedicated machines in it."""


class World:
    """What AWS sells at a size. Types, regions and what they have are those of the sample."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.platforms = _platforms(size.box_lines)
        landing = Landing(data_directory() / "sample")
        run = landing.latest_run("aws")
        assert run is not None
        self.advice: dict[str, Any] = json.loads(landing.read(run.of(SPOT_ADVISOR)[0]))
        pages = run.of(INSTANCE_TYPES, "us-east-1")
        texts = [landing.read(page).decode() for page in pages]
        items = [item for text in texts for item in ITEM.findall(text)]
        every_machine = sorted((_machine(item) for item in items), key=lambda one: one.name)
        more = max(0, int((size.scale - 1) * len(every_machine)))
        chosen = [*size.share(every_machine), *map(_made_up, every_machine[:more])]
        self.machines = {machine.name: machine for machine in chosen}

    @cached_property
    def ec2_regions(self) -> list[str]:
        """Regions of the EC2 API, the one with the most types first."""
        advice = self.advice["spot_advisor"]
        ordered = sorted(advice, key=lambda code: (-len(advice[code]["Linux"]), code))
        return self.size.nearest(ordered)

    @cached_property
    def regions(self) -> list[str]:
        """Regions with a price list in the commercial index: those of EC2, and the government's."""
        return [*self.ec2_regions, GOVERNMENT]

    @cached_property
    def offered(self) -> dict[str, list[Machine]]:
        """Machines of each region.

        The advisor is older than the list of types; of the types that it does not know a region
        has the share that it has of the others.
        """
        advice = self.advice["spot_advisor"]
        listed = self.advice["instance_types"]
        newer = [machine for name, machine in self.machines.items() if name not in listed]
        largest = len(advice["us-east-1"]["Linux"])
        offered = {}
        for region in self.ec2_regions:
            names = advice[region]["Linux"]
            older = [machine for name, machine in self.machines.items() if name in names]
            offered[region] = [*older, *newer[: len(newer) * len(names) // largest]]
        smallest = offered[self.ec2_regions[-1]] or list(self.machines.values())
        return offered | {GOVERNMENT: smallest, CHINA: smallest}

    def zones(self, region: str) -> list[str]:
        """List the zones of a region: six of the largest, three of most."""
        count = {"us-east-1": 6, "us-west-2": 4, "us-west-1": 2}.get(region, 3)
        return [region + letter for letter in "abcdef"[:count]]

    def micro_per_hour(self, region: str, machine: Machine) -> int:
        """Return the on-demand price of Linux in millionths of a dollar."""
        full = machine.vcpus * 38_000 + machine.memory_mib * 5
        factor = 1000 + 10 * self.size.draw(30, region)
        return full * factor // 1000 + self.size.draw(4_000, machine.name, region)

    def skus(self, region: str) -> Iterator[Sku]:
        """Yield all SKUs of machines of a region, always in the same order."""
        for machine in self.offered[region]:
            linux = self.micro_per_hour(region, machine)
            for platform in self.platforms:
                if platform.needs_x86 and machine.is_arm:
                    continue
                price = linux + platform.micro_per_vcpu * machine.vcpus
                for tenancy, place in (("Shared", 1), ("Dedicated", 2)):
                    micro = price if place == 1 else price * 107 // 100
                    for capacity in CAPACITIES:
                        name = (
                            f"{region}/{machine.name}/{platform.operation}/{tenancy}/{capacity[0]}"
                        )
                        code = _sku_code(name + platform.license_model)
                        yield Sku(
                            code, machine, platform, tenancy, capacity[place], capacity[0], micro
                        )


def _sku_code(name: str) -> str:
    """Return 16 letters and digits that no other name has, as the vendor's SKUs are."""
    return base64.b32encode(hashlib.blake2b(name.encode(), digest_size=10).digest()).decode()


def _machine(item: str) -> Machine:
    """Read a description."""

    def text(tag: str) -> str:
        match = re.search(f"<{tag}>(?:<item>)?([^<]*)<", item)
        return match[1] if match else ""

    name, vcpus, memory_mib = text("instanceType"), text("defaultVCpus"), int(text("sizeInMiB"))
    is_metal = ".metal" in name
    columns = {
        "Product Family": "Compute Instance (bare metal)" if is_metal else "Compute Instance",
        "Instance Type": name,
        "Current Generation": "Yes" if text("currentGeneration") == "true" else "No",
        "vCPU": vcpus,
        "Physical Processor": PROCESSORS.get(text("manufacturer"), ""),
        "Clock Speed": f"{text('sustainedClockSpeedInGhz') or '2.5'} GHz",
        "Memory": f"{memory_mib / 1024:g} GiB",
        "Storage": "" if "<disks>" in item else "EBS only",
        "Network Performance": text("networkPerformance"),
        "Normalization Size Factor": str(2 * int(vcpus)),
    }
    return Machine(name, item, int(vcpus), memory_mib, "<item>arm64" in item, columns)


def _made_up(machine: Machine) -> Machine:
    """Return a machine of a family that does not exist."""
    name = f"{machine.family}zz.{machine.name.partition('.')[2]}"
    item = machine.item.replace(f">{machine.name}<", f">{name}<", 1)
    return replace(
        machine, name=name, item=item, columns={**machine.columns, "Instance Type": name}
    )
