"""What changes gain, and how far that may be off."""
