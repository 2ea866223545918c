"""Recordings of memory for people: words, tables and pictures of what fills it, when, and what to do."""
