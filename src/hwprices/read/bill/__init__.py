"""Check a bill against the prices that were valid in each hour, and reprice its usage elsewhere."""
