"""Run one provider: plan its units, fetch or replay them, and record the run."""
