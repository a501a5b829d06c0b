"""docs/questions.md: each command prints what the page says, and each query finds its prices."""

from tools import questions


def test_the_page_has_the_answers_of_the_commands_and_queries() -> None:
    assert questions.main(["--check"]) == 0


def test_a_price_that_an_answer_lacks_is_found() -> None:
    query = "select effective_hourly from prices where instance_type = 'g6.xlarge'"
    assert questions.missing(query, "0.8048") == []
    assert questions.missing(query, "nothing") == ["0.8048"]
