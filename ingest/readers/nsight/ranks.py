"""Which rank a process of a report is, by NCCL's log or its environment, and on which clock."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracegraph.ingest.readers.nsight.report import Report

_JOINED = re.compile(
    r":(?P<pid>\d{1,10}):\d+ \[\d+\] NCCL INFO [^\n]{0,400}?"
    r"comm 0x[0-9a-fA-F]+ rank (?P<rank>\d{1,7}) nranks (?P<size>\d{1,7})\b"
)
"""How NCCL logs that a process (`host:pid:thread [device]`) joined a communicator (2.10 to 2.29)."""
_RANKS = ("RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")
_SIZES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
"""Variables that state the rank and the number of ranks, the surest first."""
_VARIABLE = re.compile(r"([A-Z_]{1,40})=\"?(\d{1,7})\"?")
_LONGEST_LOG = 1 << 24
"""Characters of a process's output that are looked at."""


@dataclass(frozen=True)
class Standing:
    """A process in its job: its rank and the number of ranks, None where the report does not say it."""

    rank: int | None = None
    size: int | None = None


def find_standing(report: Report, alone: bool) -> Standing:
    """Find the rank of a process: in the largest communicator that NCCL's log names for it.

    A report holds the environment of the one process that the profiler started, so that it only counts where
    the process is the only one with work on a GPU (`alone`).
    """
    mine = [found for pid, found in _logged(report) if pid == report.pid]
    if mine:
        return max(mine, key=lambda one: one.size or 0)
    return _from_environment(report) if alone else Standing()


def _logged(report: Report) -> Iterable[tuple[int, Standing]]:
    """Yield the process and the standing of each line in which a process joined a communicator."""
    database = report.database
    queries = []
    if database.has("ProcessStreams", "contentId") and database.has("StringIds", "id", "value"):
        queries.append(
            "SELECT DISTINCT substr(CAST(value AS TEXT), 1, ?) FROM StringIds "
            "WHERE id IN (SELECT contentId FROM ProcessStreams) AND instr(value, 'NCCL INFO')"
        )
    if database.has("ANALYSIS_FILE", "content"):
        queries.append(
            "SELECT substr(CAST(content AS TEXT), 1, ?) FROM ANALYSIS_FILE WHERE instr(content, 'NCCL INFO')"
        )
    for query in queries:
        for (text,) in database.ask(query, (_LONGEST_LOG,)):
            for line in _JOINED.finditer(text):
                yield int(line["pid"]), Standing(int(line["rank"]), int(line["size"]))


def _from_environment(report: Report) -> Standing:
    rows = report.database.read("META_DATA_CAPTURE", (), ("name", "value"))
    pairs = zip(rows.texts["name"][:].tolist(), rows.texts["value"][:].tolist(), strict=True)
    known = {
        found[1]: int(found[2])
        for name, value in pairs
        if str(name).endswith("ENVIRONMENT_VARIABLE") and (found := _VARIABLE.fullmatch(str(value)))
    }
    rank, size = (_first(names, known) for names in (_RANKS, _SIZES))
    return Standing(rank, size if size and (rank is None or rank < size) else None)


def _first(names: Iterable[str], known: Mapping[str, int]) -> int | None:
    return next((known[name] for name in names if name in known), None)


def read_clock(report: Report, sha256: str) -> str:
    """Name the clock that the report's times are on: that of its machine, which other reports share.

    Times that were not normalised to UTC begin with each report's own session.
    """
    machine, normalised = "", False
    for table in ("TARGET_INFO_SYSTEM_ENV", "META_DATA_EXPORT"):
        rows = report.database.read(table, (), ("name", "value"))
        known = dict(zip(rows.texts["name"][:].tolist(), rows.texts["value"][:].tolist(), strict=True))
        machine = machine or str(known.get("Hostname") or "")
        normalised |= known.get("EXPORT_PARAM_TIME_NORMALIZE") == "true"
    return f"{machine:.255}" if machine and normalised else f"{machine:.255} {sha256[:8]}"
