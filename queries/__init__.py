"""Cypher modules, each with one function that returns a DataFrame."""
