"""Simulated pipelines whose step lengths and bubbles are known, written as the files of their ranks."""
