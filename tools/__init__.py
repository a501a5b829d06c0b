"""Developer tools that are not in the wheel: write documents, check sheets, build the sample."""
