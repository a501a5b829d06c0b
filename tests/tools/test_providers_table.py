"""The table of providers: every provider has its row, and the document is up to date."""

from tools import providers_table

from hwprices import providers


def test_the_document_is_up_to_date() -> None:
    expected = providers_table.report()
    assert providers_table.TARGET.read_text(encoding="utf-8") == expected, "run make docs"


def test_every_provider_says_what_is_missing() -> None:
    rows = providers_table.report().splitlines()
    for name in providers.names():
        assert providers.get(name).about.missing, name
        assert [row for row in rows if f"| `{name}` |" in row], name
