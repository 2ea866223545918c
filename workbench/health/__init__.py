"""Whether a job is healthy: checks with thresholds, judged on its files without a database."""
