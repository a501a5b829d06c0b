"""Prices of parts from the product list, and of machines composed from them."""
