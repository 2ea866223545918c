"""Kills at every step of each way to store or remove a run, as many as time allows, and gone on with."""

import sys

from benchmarks.speed.measure import ROOT

# How a command is watched, killed and checked is told once, beside the tests that try a sample of the kills.
sys.path.append(str(ROOT / "tests" / "support"))
