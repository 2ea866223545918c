"""What a question of what-if and a plan assume where nobody says otherwise."""

AUTO, NO_CORRECTION = "auto", "none"
"""The overhead of recording: estimated from the file, or none."""
FIXES_WANTED = 3
"""How many fixes a plan makes."""
