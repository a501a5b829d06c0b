"""Hourly prices of OVHcloud's plans."""
