"""What a report states of the machine, the threads and the versions of what ran."""

from tracegraph.ingest.readers.nsight.report import Report
from tracegraph.ingest.text_columns import TextColumn

_GPUS, _NUMBERED, _THREADS, _PROCESSES = (
    "TARGET_INFO_GPU",
    "TARGET_INFO_CUDA_DEVICE",
    "ThreadNames",
    "PROCESSES",
)
_MOST_DEVICES = 4096
"""The number from which on a device's number is not believed."""
_VERSIONS = {
    "EXPORT_PRODUCT_VERSION": "nsight_version",
    "EXPORT_SCHEMA_VERSION": "nsight_schema",
    "NvDriverVersion": "nvidia_driver_version",
    "CudaDriverVersion": "cuda_driver_version",
}
"""Names under which a report states versions, and ours for them."""


def read_devices(report: Report) -> tuple[list[str], list[int | None]]:
    """List names and memory (bytes) of the devices by CUDA's numbers.

    The machine's own numbers may be others: a process sees some of its devices. Where the report does not
    join the two, both are taken to be equal. What is no GPU of NVIDIA has no chip's name, and no number.
    """
    gpus = report.database.read(_GPUS, ("id", "cuDevice", "totalMemory"), ("name", "chipName"))
    names, memory = gpus.texts["name"][:].tolist(), gpus["totalMemory"].tolist()
    joined = report.database.read(_NUMBERED, ("gpuId", "cudaId"), (), f'"pid" = {report.pid}')
    if joined.count:
        of_machine = dict(zip(gpus["id"].tolist(), range(gpus.count), strict=True))
        pairs = zip(joined["cudaId"].tolist(), joined["gpuId"].tolist(), strict=True)
        row_of = {cuda: of_machine[gpu] for cuda, gpu in pairs if gpu in of_machine}
    else:
        chips = gpus.texts["chipName"][:].tolist()
        row_of = {cuda: k for k, cuda in enumerate(gpus["cuDevice"].tolist()) if chips[k]}
    found = {cuda: row for cuda, row in row_of.items() if 0 <= cuda < _MOST_DEVICES}
    count = max(found, default=-1) + 1
    shown = [names[found[k]] or "" if k in found else "" for k in range(count)]
    sizes = [memory[found[k]] if k in found and memory[found[k]] > 0 else None for k in range(count)]
    return [name[: report.database.limits.text] for name in shown], sizes


def read_thread_names(report: Report) -> dict[tuple[str, str], str]:
    """Return the names of threads by (pid, tid); of several names of a thread the most important one."""
    rows = report.rows(_THREADS, "globalTid", ("globalTid", "nameId", "priority"))
    names = _shown(report.names(rows["nameId"]), report)
    order = rows["priority"].argsort(kind="stable").tolist()
    threads = (rows["globalTid"] & (1 << 24) - 1).tolist()
    return {(str(report.pid), str(threads[row])): names[row] for row in order if names[row]}


def read_process_name(report: Report) -> str:
    """Return the name of the process, empty if the report does not state it."""
    rows = report.rows(_PROCESSES, "globalPid", ("globalPid",), ("name",))
    return next((name for name in _shown(rows.texts["name"], report) if name), "")


def read_versions(report: Report) -> dict[str, str]:
    """Return the versions of the profiler, of its schema and of drivers."""
    found: dict[str, str] = {}
    for table in ("META_DATA_EXPORT", "TARGET_INFO_SYSTEM_ENV"):
        rows = report.database.read(table, (), ("name", "value"))
        pairs = zip(rows.texts["name"][:].tolist(), rows.texts["value"][:].tolist(), strict=True)
        found |= {_VERSIONS[name]: str(value) for name, value in pairs if name in _VERSIONS and value}
    return found


def _shown(names: TextColumn, report: Report) -> list[str]:
    cut, _ = names.filled("").cut(report.database.limits.text)
    return [str(name) for name in cut[:]]
