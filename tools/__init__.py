"""Developer tools: they write documents from the data and check the curated sheets. Not in the wheel."""
