"""Generated documents are written or compared."""

from tests.helpers.cases import cases, optional
from tools import spec_lint
from tools.generated import write_or_check


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
