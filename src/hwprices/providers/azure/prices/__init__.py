"""Read prices from landed pages."""
