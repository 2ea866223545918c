"""The memory that a process may use is the machine's, or what its control group or one around it leaves."""

from pathlib import Path

import psutil
import pytest

from tracegraph.base import machine

WHOLE = psutil.virtual_memory().total >> 20
GIB, HALF = str(1 << 30), str(1 << 29)


@pytest.mark.parametrize(
    ("own", "limits", "mib"),
    [
        ("0::/\n", {"memory.max": "max"}, WHOLE),
        ("0::/\n", {"memory.max": GIB}, 1024),
        ("0::/a/b\n", {"a/b/memory.max": HALF, "a/memory.max": GIB}, 512),
        ("0::/a/b\n", {"a/b/memory.max": "max", "a/memory.max": GIB}, 1024),
        ("0::/gone\n", {"memory.max": GIB}, 1024),
        ("4:cpu,memory:/a\n0::/\n", {"memory/a/memory.limit_in_bytes": HALF}, 512),
        ("4:memory:/a\n", {"memory/memory.limit_in_bytes": GIB}, 1024),
        ("4:memory:/\n", {"memory/memory.limit_in_bytes": str(2**63 - 4096)}, WHOLE),
        ("3:cpu:/a\n", {"memory.max": GIB}, WHOLE),
        (None, {"memory.max": GIB}, WHOLE),
    ],
)
def test_the_smallest_limit_counts(
    own: str | None, limits: dict[str, str], mib: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(limit + "\n")
    if own is not None:
        (tmp_path / "own").write_text(own)
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_CGROUPS", tmp_path / "own")
    assert machine.memory_mib() == mib


def test_what_is_left_is_the_least_that_a_group_leaves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = tmp_path / "a"
    group.mkdir()
    (group / "memory.max").write_text(f"{3 << 20}\n")
    (group / "memory.current").write_text(f"{2 << 20}\n")
    (group / "memory.stat").write_text(f"anon {1 << 20}\ninactive_file {1 << 19}\n")
    (tmp_path / "own").write_text("0::/a\n")
    monkeypatch.setattr(machine, "_CGROUPS", tmp_path)
    monkeypatch.setattr(machine, "_OWN_CGROUPS", tmp_path / "own")
    assert machine.free_memory_bytes() == (3 << 20) - (2 << 20) + (1 << 19)
    (group / "memory.current").write_text(f"{4 << 20}\n")
    assert machine.free_memory_bytes() == 0
    assert machine.cores() >= 1
