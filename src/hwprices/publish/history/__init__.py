"""Record what changed from release to release, and in which time every price was valid.

``record`` makes the tables price_history and changes of a new release, and again from the releases
that are kept. docs/history.md has the rules and an example.

The rules, in one place each:

- ``intervals``: one row for each price and value, which never overlap;
- ``judge``: a difference that our reading makes is not called a change of the vendor; what was not
  collected is not called removed, and not called new afterwards.
"""
