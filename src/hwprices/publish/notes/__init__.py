"""Release notes: what a release says about itself, for people (Markdown) and programs (JSON)."""
