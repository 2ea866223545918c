"""Replays of a run in which something takes less time, or waits for less."""
