"""The processors and the memory that this process may use."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

_MIB = 1 << 20
_OWN_CGROUPS = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """Count the processors that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def memory_mib() -> int:
    """Return the memory that this process may use, in MiB: the machine's, or a container's lower limit."""
    return min([int(psutil.virtual_memory().total), *(limit for _, limit in _cgroup_limits())]) // _MIB


def free_memory_bytes() -> int:
    """Return how much of that memory is free now, in bytes; the system's cache of files counts as free."""
    left = [limit - _used(group) for group, limit in _cgroup_limits()]
    return max(0, min([int(psutil.virtual_memory().available), *left]))


def _used(group: Path) -> int:
    """Return the bytes that a control group has taken and cannot give back at once; 0 if unknown."""
    for name in ("memory.current", "memory.usage_in_bytes"):
        try:
            used = int((group / name).read_text())
            stated = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        return used - int(stated.get("total_inactive_file", stated.get("inactive_file", 0)))
    return 0


def _cgroup_limits() -> Iterator[tuple[Path, int]]:
    """Yield the control groups (v1 and v2) around this process that have a limit, and its bytes."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:  # not on Linux
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            folder, name = _CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = _CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        inside = PurePosixPath(path.lstrip("/"))
        # a container sees its own group as the outermost one, whatever its path says
        for group in (inside, *inside.parents):
            try:
                limit = (folder / group / name).read_text().strip()
            except OSError:
                continue
            if limit.isdecimal():  # else it is `max`
                yield folder / group, int(limit)
