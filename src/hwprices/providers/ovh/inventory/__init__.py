"""Machines of OVHcloud, and the kinds of zones they are sold in."""
