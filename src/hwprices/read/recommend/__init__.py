"""Recommend machines for a language model."""
