"""OVHcloud's API without an account: the order catalog."""
