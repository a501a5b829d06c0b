"""Measurements of speed and memory. README.md explains how to add a script."""
