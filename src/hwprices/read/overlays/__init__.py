"""Own discounts over list prices, on the reader's side: a release always holds list prices."""
