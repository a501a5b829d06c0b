"""docs/questions.md: each command prints what the page says, and each query finds its prices."""

import pytest
from tools import answers, questions
from tools.answers import ask


def test_the_page_has_the_answers_of_the_commands_and_queries() -> None:
    assert questions.main(["--check"]) == 0


def test_a_price_that_an_answer_lacks_is_found() -> None:
    query = "select effective_hourly from prices where instance_type = 'g6.xlarge'"
    assert questions.missing(query, "0.8048") == []
    assert questions.missing(query, "nothing") == ["0.8048"]


def test_an_answer_without_the_lines_that_it_should_show_is_refused() -> None:
    """The page had an empty block: `clouds` is not a line of the answer about a CPU."""
    sold = ask("Where is Graviton4 sold?", "device Graviton4", "On AWS alone.", "clouds")
    printed = ["Graviton4 (aws-graviton4)", "regions         aws/us-east-1"]
    with pytest.raises(RuntimeError, match="no line of the answer begins 'clouds'"):
        answers._shown(sold, printed)
    with pytest.raises(RuntimeError, match="the answer has no line"):
        answers._shown(ask("Nothing?", "tco", ""), ["", " "])


def test_a_line_that_continues_an_answer_can_be_shown() -> None:
    """Four lines about the M3 Max, of which the first is about prompts."""
    speed = ask("How fast?", "device M3-Max", "", "llama3-8b SingleUser")
    printed = [
        "measured         llama3-8b Prompt v2024.5: 751.5 Tokens/s per accelerator",
        "                 llama3-8b SingleUser v2024.5: 50.74 Tokens/s per accelerator",
    ]
    assert answers._shown(speed, printed) == printed[1:]


L4_TEXTS = (answers.image_on_l4, answers.year_of_l4)


def test_a_text_quotes_the_figures_of_the_answer() -> None:
    """0.2516 images a second, at RunPod's 0.49 USD/h and not at Google's 0.7045."""
    l4 = {
        "on_demand_usd_per_hour": "0.49",
        "usd_per_year": "3888.0932",
        "usd_per_year_basis": "gcp/us-east4/g2-standard-4: committed_use_1y",
        "measured": [
            {"model": "stable-diffusion-xl", "scenario": "Offline", "per_accelerator": 0.251585}
        ],
    }
    told = [why(lambda _: [l4]) for why in L4_TEXTS]
    assert told[0] == "0.2516 images a second at 0.4900 USD/h."
    assert told[1].endswith("0.4900 USD/h, would be 4,292 USD.")
