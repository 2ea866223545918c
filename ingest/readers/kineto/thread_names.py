"""Collect the names that metadata entries (ph M) give to threads and processes."""

from tracegraph.ingest.readers.kineto.entry_decoding import Event, decode_label


class NameCollector:
    """Names that metadata events give to threads and processes."""

    def __init__(self) -> None:
        self.threads: dict[tuple[str, str], str] = {}
        self.processes: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        """What `process_labels` say of processes, such as CPU or GPU 0."""

    def append(self, other: "NameCollector") -> None:
        """Store the names of another collector, which count before those so far."""
        self.threads |= other.threads
        self.processes |= other.processes
        self.labels |= other.labels

    def add(self, event: Event) -> None:
        """Store the name in a metadata event, if it holds one."""
        if event.name not in ("thread_name", "process_name", "process_labels"):
            return
        label = decode_label(event.args)
        if label is None:
            return
        pid, tid = ("" if value is None else str(value) for value in (event.pid, event.tid))
        if event.name == "thread_name":
            self.threads[pid, tid] = label
        elif event.name == "process_labels":
            self.labels[pid] = label
        else:
            self.processes[pid] = label
