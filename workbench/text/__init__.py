"""Text for people: names cut by meaning, numbers with units, values of a result."""
