"""Memory is kept for the next columns and given back when asked: both show in the process's size."""

import platform
import subprocess
import sys

import pytest

SIZES = """
import numpy as np
import psutil
from tracegraph.base.malloc_settings import give_back_memory, reuse_dropped_columns

def size():
    return psutil.Process().memory_info().rss

reuse_dropped_columns()
before = size()
columns = [np.ones(1 << 21) for _ in range(8)]
held = size()
del columns
kept = size()
give_back_memory()
print(held - before, kept - before, size() - before)
"""
MIB = 1 << 20


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
def test_dropped_columns_stay_until_they_are_given_back() -> None:
    done = subprocess.run([sys.executable, "-c", SIZES], capture_output=True, text=True, check=True)
    held, kept, left = map(int, done.stdout.split())
    assert held >= 120 * MIB
    assert kept >= 120 * MIB
    assert left <= 40 * MIB
