"""Print how providers take each change to their pages, or write it down.

``python -m tests.future [PROVIDER …]`` prints each change, its outcome and why. With ``--write`` it
tries every member too, and writes tests/future/outcomes.csv.
"""

import sys

from tests.future import document
from tests.future.table import changes, tried, verdict

arguments = sys.argv[1:]
outcomes = {}
for provider in [name for name in arguments if name != "--write"] or tried():
    for name in changes(provider, every_member="--write" in arguments):
        outcome = verdict(provider, name)
        if outcome is not None:
            outcomes[provider, name] = outcome.word
            sys.stdout.write(f"{provider:10} {name:30} {outcome.word:20} {outcome.detail[:400]}\n")
            sys.stdout.flush()
if "--write" in arguments:
    document.write_outcomes(outcomes)
