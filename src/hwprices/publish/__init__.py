"""Check staged tables against the last release, join them with the spec sheets, and publish."""
