"""Run the command line: ``python -m hwprices``."""

from hwprices.cli import main

main()
