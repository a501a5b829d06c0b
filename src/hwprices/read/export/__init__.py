"""Write tables in the formats that others read."""
