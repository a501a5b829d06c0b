"""Every change to the pages of every provider, and how it is taken."""

from functools import cache
from pathlib import Path

from hwprices import providers
from hwprices.landing.pages import Landing
from tests.future import mutations
from tests.future.judge import Outcome, Stager, Verdict, judge
from tests.future.mutations import Future, Vendor
from tests.future.pages import World, open_run
from tests.future.vendors import SHEETS, VENDORS
from tests.helpers.nightly import NIGHTLY

PROJECT = Path(__file__).resolve().parents[2]
SAMPLE = PROJECT / "data" / "sample"
STAGER = Stager()

LARGE = ("aws", "azure", "gcp")

ADDED = (
    *("new_family", "new_accelerator", "new_arch", "new_os", "new_software", "new_license"),
    *("new_option", "new_market", "new_tenancy", "new_payment", "new_term", "new_currency"),
    *("new_unit", "new_region", "new_place_in_page"),
)
CHANGED = ("unit_plural", "unit_case", "word_case", "grammar")
ANY_PAGE = {
    "twin": mutations.twin,
    "dearer_twin": mutations.dearer_twin,
    "zero": mutations.zero,
    "extra_member": mutations.extra_member,
    "numbers_as_text": mutations.numbers_as_text,
    "text_as_numbers": mutations.text_as_numbers,
}
EACH_MEMBER = {"renamed": mutations.renamed, "missing": mutations.missing}


def tried() -> list[str]:
    """List the providers with prices that are tried; one stands for all price sheets."""
    abouts = {name: providers.get(name).about for name in providers.names()}
    folders = [n for n, about in abouts.items() if about.price_kinds and not about.is_price_sheet]
    return [*folders, SHEETS]


def vendor_of(provider: str) -> Vendor:
    """Return what is known of a vendor's pages; nothing of a provider that is new."""
    return VENDORS.get(provider, Vendor(prices="*"))


@cache
def world_of(provider: str) -> World:
    """Open the slice of the sample that is tried."""
    landing = Landing(SAMPLE)
    run = landing.latest_run(provider)
    assert run is not None, f"the sample has no run of {provider}"
    world, vendor = open_run(landing, run), vendor_of(provider)
    for document in world.documents:
        kind = document.unit.kind
        for records in World(provider, [document]).lists(kind):
            records[:] = [record for record in records if vendor.keep(kind, record)]
    vendor.more(world)
    world.documents = [d for d in world.documents if any(World(provider, [d]).lists(d.unit.kind))]
    return world


@cache
def base_of(provider: str) -> Outcome:
    """Stage the slice as it is."""
    return STAGER.stage(world_of(provider))


def changes(provider: str, *, every_member: bool = False) -> list[str]:
    """List the changes that are tried on a provider's pages.

    Every member that the vendor's row names is renamed and left out; by day one of a large cloud.
    """
    vendor = vendor_of(provider)
    every_member |= NIGHTLY or provider not in LARGE
    members = vendor.members or mutations.members_of(world_of(provider), vendor)
    return [
        *(name for name in ADDED if name in vendor.added),
        *(name for name in CHANGED if name in vendor.changed),
        *ANY_PAGE,
        *(
            f"{name}:{member}"
            for member in (members if every_member else members[:1])
            for name in EACH_MEMBER
        ),
    ]


def change(provider: str, name: str) -> Future | None:
    """Make a change; None where it changes nothing on the pages of the provider."""
    world, vendor = world_of(provider), vendor_of(provider)
    kind, _, member = name.partition(":")
    future: Future | None
    if kind in EACH_MEMBER:
        future = EACH_MEMBER[kind](world, vendor, member)
    elif name in ANY_PAGE:
        future = ANY_PAGE[name](world, vendor)
    elif name in CHANGED:
        future = mutations.changed(world, vendor, name)
    else:
        future = mutations.added(world, vendor, name)
    is_same = future is None or future.world.bodies == world.bodies
    return None if is_same else future


def verdict(provider: str, name: str) -> Verdict | None:
    """Try a change; None where it changes nothing."""
    future = change(provider, name)
    if future is None:
        return None
    rest = None if future.rest is None else STAGER.stage(future.rest)
    return judge(base_of(provider), future, STAGER.stage(future.world), rest)
