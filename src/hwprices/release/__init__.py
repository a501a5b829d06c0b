"""What a release is: its files, manifest, notes and status, and how it is opened."""
