"""Generated documents are written or compared."""

import pytest
from tools import spec_lint
from tools.generated import write_or_check


@pytest.mark.parametrize(
    ("existing", "arguments", "status", "after"),
    [
        (None, [], 0, "new"),
        ("old", [], 0, "new"),
        ("old", ["--check"], 1, "old"),
        (None, ["--check"], 1, None),
        ("new", ["--check"], 0, "new"),
    ],
)
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
