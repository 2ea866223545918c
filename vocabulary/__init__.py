"""The words of traces as data: categories, mechanisms, gaps, phases, names of calls, peaks of devices."""
