"""Describe everything the dataset knows about one device."""
