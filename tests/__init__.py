"""Tests, laid out like src/hwprices."""
