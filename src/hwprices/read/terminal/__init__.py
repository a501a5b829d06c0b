"""Draw answers as tables for a terminal."""
