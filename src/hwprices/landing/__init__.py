"""Download the vendors' pages and keep them as they came, under raw/."""
