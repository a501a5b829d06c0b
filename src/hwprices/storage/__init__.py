"""Keep files below a root: their keys, how they are read and written, and their manifests."""
