"""What the publish flow does when the pages of a release cannot be written."""

from types import SimpleNamespace


def test_a_report_that_fails_is_a_warning_and_no_more(tmp_path, monkeypatch) -> None:
    from hwprices.flows import publish

    warnings: list[str] = []
    logger = SimpleNamespace(warning=lambda text, *values: warnings.append(text % values))
    monkeypatch.setattr(publish, "get_run_logger", lambda: logger)
    published = SimpleNamespace(version="20260801T000000Z")
    publish.write_report.fn(published, str(tmp_path))
    assert len(warnings) == 1
    assert "release 20260801T000000Z has no report: no release" in warnings[0]
