"""Answer what a price was, what changed between two releases, and which release was current."""
