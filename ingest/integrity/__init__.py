"""What was odd, dropped, repaired or missing in the input: stated before any number."""
