"""What a person sees while a flow runs."""

import contextvars
import io
import threading

from rich.console import Console

from hwprices.flows import progress


def printed(*, terminal: bool) -> tuple[Console, io.StringIO]:
    output = io.StringIO()
    return Console(file=output, force_terminal=terminal, width=120, no_color=True), output


def test_in_a_pipe_each_start_and_end_is_a_line() -> None:
    console, output = printed(terminal=False)
    with progress.show(console):
        progress.report("aws", "plan")
        progress.report("aws", "fetch", done=1, total=2)
        progress.report("gcp", "plan")
        progress.finish("aws", "12 prices staged")
    assert output.getvalue().splitlines() == ["aws: plan", "gcp: plan", "aws: 12 prices staged"]


def test_on_a_terminal_the_units_are_counted() -> None:
    console, output = printed(terminal=True)
    with progress.show(console):
        progress.report("aws", "fetch", done=1, total=2)
    assert "1/2" in output.getvalue()


def test_a_thread_with_the_context_reports_to_the_same_screen() -> None:
    """Prefect starts the threads of its tasks with a copy of the flow's context."""
    console, output = printed(terminal=False)
    with progress.show(console):
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(progress.report, "aws", "plan"))
        thread.start()
        thread.join()
    assert output.getvalue() == "aws: plan\n"


def test_nothing_is_printed_outside_show() -> None:
    console, output = printed(terminal=False)
    with progress.show(console):
        pass
    progress.report("aws", "plan")
    progress.finish("aws", "done")
    assert output.getvalue() == ""
