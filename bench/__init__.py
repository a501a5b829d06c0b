"""Measurements of speed and memory. README.md says how a script joins them."""
