"""Query SkyPilot's optimizer, in an environment that has it; ``tools.check_clients`` runs this.

Reads questions from standard input and writes the answers, both as JSON lists. It contacts no cloud
and starts nothing: the optimizer assumes that the clouds are enabled.
"""

import json
import sys
from typing import Any

import sky
from sky import check, clouds
from sky.optimizer import Optimizer

CLOUDS = [clouds.AWS(), clouds.Azure(), clouds.GCP()]

HOUR = 3600


def answer(question: dict[str, Any]) -> list[str | float]:
    """Return the machine, the region and the hourly price that the optimizer chooses.

    The price is 0 if it finds no machine.
    """
    place = "/".join(name for name in (question["cloud"], question["region"]) if name)
    resources = sky.Resources(
        infra=place or None,
        accelerators=question["accelerators"] or None,
        instance_type=question["instance_type"] or None,
        use_spot=question["words"].endswith("spot"),
    )
    with sky.Dag() as graph:
        task = sky.Task(run="true")
        task.set_resources(resources)
    try:
        Optimizer.optimize(graph, quiet=True)
    except sky.exceptions.ResourcesUnavailableError:
        return ["none", "", 0.0]
    chosen = task.best_resources
    return [chosen.instance_type, chosen.region or "", chosen.get_cost(HOUR)]


def main() -> None:
    """Answer the questions on standard input."""
    check.get_cached_enabled_clouds_or_refresh = lambda *_, **__: CLOUDS
    questions = json.load(sys.stdin)
    answers = [answer(question) for question in questions]
    print(f"\n{json.dumps(answers)}")


if __name__ == "__main__":
    main()
