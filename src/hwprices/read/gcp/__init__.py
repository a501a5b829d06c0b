"""Price GCP's custom machines and discounts from a release."""
