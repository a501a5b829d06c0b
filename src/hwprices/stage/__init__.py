"""Turn a run's landed pages into checked tables under staged/."""
