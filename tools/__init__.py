"""Developer tools, not in the wheel: write documents, check the sheets, build the sample."""
