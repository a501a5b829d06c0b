"""Build the landed pages under data/sample."""
