"""Trace formats: each reader returns the same `TraceFile`."""
