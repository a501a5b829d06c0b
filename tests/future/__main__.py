"""Print how providers take each change to their pages, and why: ``python -m tests.future aws``."""

import sys

from tests.future.table import changes, tried, verdict

for provider in sys.argv[1:] or tried():
    for name in changes(provider, every_member=True):
        outcome = verdict(provider, name)
        if outcome is not None:
            sys.stdout.write(f"{provider:10} {name:30} {outcome.word:20} {outcome.detail[:400]}\n")
            sys.stdout.flush()
