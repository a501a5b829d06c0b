"""Talk to the vendor's servers and land what they send."""
