"""Read Scaleway's prices."""
