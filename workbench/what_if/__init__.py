"""What if something took less time: asked in the user's own names."""
