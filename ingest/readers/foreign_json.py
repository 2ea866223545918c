"""JSON of other tools, known by its keys: each is refused by its name, with what to do instead."""

import re
from collections.abc import Collection
from pathlib import Path

from tracegraph.base.errors import InputError

RECORD = "record one with torch.profiler and export_chrome_trace"
_EVENTS = re.compile(rb'"(?:traceEvents|ph)"\s*:')
_SUMS = re.compile(
    rb'"(?:self_)?(?:cpu|cuda|device|xpu|npu|privateuse1)_time(?:_total|_avg)?(?:_us)?"\s*:'
    rb'|"Self (?:CPU|CUDA|Device|XPU|NPU)\b[^"]*"\s*:',
    re.IGNORECASE,
)
_DUMP = {"pg_config", "pg_status", "nccl_version", "comm_lib_version"}
SPEEDSCOPE = ("a speedscope profile (sampled stacks), not a trace", RECORD)
FLIGHT_RECORDER = (
    "a dump of the flight recorder (which collectives ran, without the work around them), not a trace",
    f"read it with `torchfrtrace`; for a report {RECORD}",
)
_ROCPROF = (
    "the JSON of a tool of rocprofiler-sdk other than rocprofv3, which is not read",
    f"{RECORD}: it records ROCm's kernels and calls, and the operators around them",
)
_KEY_AVERAGES = (
    "a table of sums (key_averages), not a trace: it holds no single event",
    "write the trace itself with export_chrome_trace, of the same profile",
)
_EXECUTION_TRACE = ("an execution trace (it has `nodes`), not a profiler trace", RECORD)
_CPU_PROFILE = ("a CPU profile of V8 (sampled stacks), not a trace", RECORD)
_FIREFOX = ("a profile of the Firefox Profiler (sampled stacks), not a trace", RECORD)
EXPORT = "nsys export --type sqlite --ts-normalize true"
"""The command that makes a database of a report of Nsight Systems."""
_NSIGHT = (
    "a report of Nsight Systems as JSON, whose form changes from version to version",
    f"export the report as a database instead: `{EXPORT} REPORT.nsys-rep`",
)

_OF_HEAD = (
    (re.compile(rb'"https?://(?:www\.)?speedscope\.app'), SPEEDSCOPE),
    (re.compile(rb'\s*\{\s*"rocprofiler-sdk'), _ROCPROF),
    (
        re.compile(
            rb'"(?:(?:Cuda|Nvtx|Osrt|Sched|TraceProcess)Event|StringIds|META_DATA_\w+|TARGET_INFO_\w+'
            rb'|CUPTI_ACTIVITY_\w+)"\s*:'
        ),
        _NSIGHT,
    ),
    (_SUMS, _KEY_AVERAGES),
)


def refuse_foreign_head(path: Path, head: bytes) -> None:
    """Raise InputError if JSON that begins with `head` is known not to be a trace.

    This comes before it is read as a whole.
    """
    if _EVENTS.search(head):
        return
    for mark, (what, hint) in _OF_HEAD:
        if mark.search(head):
            raise InputError(f"{path} is {what}", hint)


def refuse_foreign_object(path: Path, keys: Collection[str]) -> None:
    """Raise InputError if a document with these keys, and no `traceEvents`, is known not to be a trace."""
    found = set(keys)
    kinds = (
        ({"profiles", "shared"} <= found, SPEEDSCOPE),
        (any(key.startswith("rocprofiler-sdk") for key in found), _ROCPROF),
        ("entries" in found and bool(_DUMP & found), FLIGHT_RECORDER),
        ({"nodes", "samples", "timeDeltas"} <= found, _CPU_PROFILE),
        ({"meta", "threads", "libs"} <= found, _FIREFOX),
        ("nodes" in found, _EXECUTION_TRACE),
    )
    for is_one, (what, hint) in kinds:
        if is_one:
            raise InputError(f"{path} is {what}: the key traceEvents is missing", hint)
