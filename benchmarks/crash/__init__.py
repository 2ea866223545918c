"""Kills at every step of each way to store or remove a run, as many as time allows, in several calls."""

import sys

from benchmarks.speed.measure import ROOT

# The code that watches, kills and checks a command lies beside the tests that try a sample of the kills.
sys.path.append(str(ROOT / "tests" / "support"))
