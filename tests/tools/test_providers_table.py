"""The table of providers: every provider has its row."""

from tools import providers_table

from hwprices import providers


def test_every_provider_says_what_is_missing() -> None:
    rows = providers_table.report().splitlines()
    for name in providers.names():
        about = providers.get(name).about
        assert about.missing, name
        assert about.is_price_sheet or "live" in about.missing, name
        assert [row for row in rows if f"| `{name}` |" in row], name
