"""Read regions, zones, machine types and availability from landed pages."""
