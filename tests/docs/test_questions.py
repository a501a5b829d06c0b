"""docs/questions.md: each command prints what the page says, and each query finds its prices."""

from tools import questions


def test_the_page_has_the_answers_of_the_commands_and_queries() -> None:
    assert questions.main(["--check"]) == 0
