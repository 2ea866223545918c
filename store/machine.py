"""What of the machine this process may use."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil

_MIB = 1 << 20
_OWN_CGROUPS = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


def memory_mib() -> int:
    """Memory that this process may use, in MiB: the machine's, or less where a container has a limit."""
    return min([int(psutil.virtual_memory().total), *_cgroup_limits()]) // _MIB


def _cgroup_limits() -> Iterator[int]:
    """Limits in bytes of the control groups (v1 and v2) that the process is in, and of those around them."""
    try:
        lines = _OWN_CGROUPS.read_text().splitlines()
    except OSError:  # no Linux
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
                yield int(limit)
