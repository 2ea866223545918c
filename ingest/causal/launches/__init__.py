"""Which call launched which GPU work, what the host waited for, and what has no rows."""
