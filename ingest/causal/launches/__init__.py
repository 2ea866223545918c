"""Which call launched which GPU work, what the host waited for, and which work has no rows."""
