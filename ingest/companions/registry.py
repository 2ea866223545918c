"""Every kind of companion: a new one is a module with a `Companion`, and its name here."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tracegraph.base.errors import InputError
from tracegraph.ingest.companions.companion import Companion, CompanionFile, Told
from tracegraph.ingest.companions.memory.companions import SNAPSHOTS, TIMELINES
from tracegraph.ingest.companions.memory.timeline_file import is_timeline
from tracegraph.ingest.companions.nccl_log import NCCL_LOG
from tracegraph.ingest.companions.nccl_tests import NCCL_TESTS
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import DEFAULT_LIMITS, Limits
from tracegraph.ingest.readers.source_file import DATABASE, HEAD_BYTES, open_source
from tracegraph.ingest.readers.unpacking import begins_with

COMPANIONS: tuple[Companion, ...] = (NCCL_LOG, NCCL_TESTS, SNAPSHOTS, TIMELINES)
_OF_TRACES = (b"{", b"[", b"PAR1", DATABASE)
"""How traces begin, which are not looked through for what companions hold."""
_HINT = f"companions are {', '.join(one.name for one in COMPANIONS)}; a trace is given without --with"


def open_companion(path: Path, limits: Limits = DEFAULT_LIMITS) -> CompanionFile:
    """Read and unpack a file; InputError if it cannot be read or is beyond the limits."""
    source = open_source(path, Integrity(str(path), limits))
    return CompanionFile(str(path), source.sha256, bytes(source.take()))


def _is_trace(head: bytes) -> bool:
    """Tell by how content begins; a list of lists is a memory timeline."""
    return head.lstrip().startswith(_OF_TRACES) and not is_timeline(memoryview(head))


def kinds_of(file: CompanionFile) -> list[Companion]:
    """Return the kinds that a file is of."""
    if _is_trace(file.data[:HEAD_BYTES]):
        return []
    return [one for one in COMPANIONS if one.sniff(file)]


def find_companion(path: Path, limits: Limits = DEFAULT_LIMITS) -> CompanionFile | None:
    """Open a file if it is a companion; None for a trace and for a file that cannot be read.

    A trace is told by its first bytes, so that a large one is neither read nor unpacked for this.
    """
    try:
        with path.open("rb") as file:
            head, _ = begins_with(file.read(HEAD_BYTES))
        if _is_trace(head):
            return None
        opened = open_companion(path, limits)
    except (OSError, InputError):
        return None
    return opened if kinds_of(opened) else None


def is_companion(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Tell whether a file is a companion and no trace."""
    return find_companion(path, limits) is not None


def read_companions(files: Sequence[CompanionFile]) -> Mapping[str, Told]:
    """Read the files, those of one kind together, and return what each kind says, by its name.

    Raises
    ------
    InputError
        A file is of no known kind.
    """
    by_kind: dict[str, list[CompanionFile]] = {}
    for file in files:
        kinds = kinds_of(file)
        if not kinds:
            raise InputError(f"{file.path} holds nothing that explains a trace", _HINT)
        for kind in kinds:
            by_kind.setdefault(kind.name, []).append(file)
    return {kind.name: kind.read(by_kind[kind.name]) for kind in COMPANIONS if kind.name in by_kind}
