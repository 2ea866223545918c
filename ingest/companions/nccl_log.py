"""NCCL's log (NCCL_DEBUG=INFO): its communicators, their channels, its own model of times, its calls.

Which lines there are depends on NCCL_DEBUG_SUBSYS: INIT names the communicators, GRAPH their rings, trees
and transports, TUNING the table of latency and bandwidth and the choice of each call, COLL the calls of all
ranks. Read as versions 2.10 to 2.29 write them (src/init.cc, src/graph/tuning.cc, src/enqueue.cc of NCCL).
"""

from collections import Counter
from collections.abc import Sequence

from tracegraph.ingest.companions.companion import CompanionFile, Told
from tracegraph.ingest.companions.log_lines import split_log
from tracegraph.ingest.companions.nccl_calls import CallLog
from tracegraph.ingest.companions.nccl_communicators import CommunicatorLog
from tracegraph.ingest.companions.nccl_tuning import TuningLog


class _Log:
    """Reads logs of NCCL; those of a job's processes, as NCCL_DEBUG_FILE=…%h_%p writes them, together."""

    name = "NCCL log"

    def sniff(self, file: CompanionFile) -> bool:
        """Look for a line of NCCL."""
        return b" NCCL INFO " in file.data

    def read(self, files: Sequence[CompanionFile]) -> Told:
        """Read the lines of all files; a line that says nothing of these things is counted."""
        communicators, unknown = CommunicatorLog(), 0
        tuning, calls = TuningLog(communicators), CallLog(communicators)
        for file in files:
            communicators.version_in(file.text)
            for line in split_log(file.text)[0]:
                unknown += not any(log.take(line) for log in (communicators, tuning, calls))
        found = communicators.rows()
        table, called = tuning.rows(), calls.rows()
        told = {"Communicator": found, "Channel": communicators.channel_rows(), "Transfer": [*table, *called]}
        sizes = Counter(f"{row['ranks']} ranks" if row["ranks"] != 1 else "1 rank" for row in found)
        transports = Counter[str]()
        for row in told["Channel"]:
            if row["transport"] is not None:
                transports[str(row["transport"])] += int(str(row["connections"]))
        words = {
            "communicators": dict(sizes),
            "connections": dict(transports),
            "times in NCCL's table": len(table),
            "calls": sum(int(str(row["count"])) for row in called),
            "other lines": unknown,
        }
        return Told(told, words)


NCCL_LOG = _Log()
