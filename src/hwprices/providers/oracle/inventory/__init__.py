"""Machines of Oracle Cloud, and the one place where they are sold."""
