"""A predicted run as a run of its own: made, kept, and read again from the store."""
