"""Ask Scaleway."""
