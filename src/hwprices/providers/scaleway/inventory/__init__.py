"""Read what machines Scaleway has, and where."""
