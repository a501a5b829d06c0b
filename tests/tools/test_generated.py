"""Generated documents and tables."""

from tests.helpers.cases import cases, optional
from tools import providers_table, spec_lint
from tools.generated import write_or_check

from hwprices import providers


@cases("tools/generated", existing=optional, arguments=str.split, status=int, after=optional)
def test_a_document_is_written_or_compared(tmp_path, capsys, existing, arguments, status, after):
    target = tmp_path / "page.md"
    if existing is not None:
        target.write_text(existing)
    assert write_or_check(target, "new", arguments) == status
    assert (target.read_text() if target.exists() else None) == after
    assert ("is out of date: run make docs" in capsys.readouterr().err) == bool(status)


def test_spec_lint_exits_with_1_when_it_finds_something(monkeypatch, capsys):
    finding = spec_lint.Finding("bandwidth", "nvidia-l4", "bus width and rate of a pin go together")
    monkeypatch.setattr(spec_lint, "lint", lambda: [finding])
    assert spec_lint.main() == 1
    assert capsys.readouterr().err == (
        "error: nvidia-l4: bus width and rate of a pin go together (bandwidth)\n"
    )


def test_every_provider_says_what_is_missing() -> None:
    rows = providers_table.report().splitlines()
    for name in providers.names():
        about = providers.get(name).about
        assert about.missing, name
        assert about.is_price_sheet or "live" in about.missing, name
        assert [row for row in rows if f"| `{name}` |" in row], name
