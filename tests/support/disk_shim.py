"""Commands on a disk that fails or crawls, by a library that is preloaded into Python and Java."""

import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from crash_ways import Outcome, Way, arguments_of

_SOURCE = Path(__file__).with_name("disk_shim.c")
_MAIN = """
from tracegraph.cli.main import main
from tracegraph.store.managed.server import server
server._START_LIMIT_S = 30.0  # a server whose disk fails while it starts may hang: it is given up then
raise SystemExit(main())
"""
_COUNTER = "qq"


class Calls(NamedTuple):
    """How often a command waited for the disk, and that with how often it wrote."""

    sync: int
    all: int


class Met(NamedTuple):
    """How a command ended, its calls, and which of them met the fault, if one did."""

    outcome: Outcome
    calls: Calls
    fault: str


@dataclass(frozen=True)
class Fault:
    """What the disk does from the call `at` on, of the `calls` named. To `sleep` is `ms` at each fsync."""

    act: Literal["none", "kill", "EIO", "ENOSPC", "sleep"] = "none"
    at: int = 0
    calls: Literal["sync", "all"] = "sync"
    ms: int = 0

    def __str__(self) -> str:
        return f"{self.act} at {self.calls} call {self.at}"


def compile_shim(folder: Path) -> Path:
    """The library; the test is skipped where it cannot be made."""
    compiler = shutil.which("cc")
    if sys.platform != "linux" or compiler is None:
        pytest.skip("a C compiler `cc` on Linux is needed")
    library = folder / "disk_shim.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-Wall", "-o", library, _SOURCE, "-ldl"], check=True)
    return library


def run_on_disk(library: Path, way: Way, root: Path, fault: Fault, limit_s: float) -> Met:
    """Run a way with a fault."""
    counter, hit = root.with_suffix(".counter"), root.with_suffix(".hit")
    counter.write_bytes(struct.pack(_COUNTER, 0, 0))
    hit.unlink(missing_ok=True)
    shim = {
        "LD_PRELOAD": str(library),
        "DISK_SHIM_ROOT": str(root),
        "DISK_SHIM_COUNTER": str(counter),
        "DISK_SHIM_HIT": str(hit),
        "DISK_SHIM_ACT": fault.act,
        "DISK_SHIM_AT": str(fault.at),
        "DISK_SHIM_CALLS": fault.calls,
        "DISK_SHIM_MS": str(fault.ms),
    }
    ended = subprocess.run(
        [
            sys.executable,
            "-c",
            _MAIN,
            "--quiet",
            "--workspace",
            str(root),
            *arguments_of(way.arguments, root),
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **shim},
        timeout=limit_s,
        check=False,
    )
    met = hit.read_text().strip() if hit.exists() else ""
    calls = Calls(*struct.unpack(_COUNTER, counter.read_bytes()))
    return Met(Outcome(ended.returncode, ended.stderr, bool(met)), calls, met)
