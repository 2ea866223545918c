"""Which rows are those of a device that has no rules, by the name of their lane or by their category."""

import re

import numpy as np

from tracegraph.ingest.arrays import Flags
from tracegraph.ingest.text_columns import distinct_pairs, read_texts, with_role
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.categories import Role, has_role, is_known

_DEVICE_NAME = re.compile(
    r"\b(?:hip)?stream\b|/device:(?!cpu|host)|\b(?:gpu|npu|xpu|hpu|tpu|mtia)\d*\b|\bascend hardware\b"
    # rocprof: its JSON has processes with these names, its Perfetto traces such tracks
    r"|\bxla ops\b|^(?:copy|hipblitkernels)$|^copy to agent\b|^dev \d+ queue\b",
    re.IGNORECASE,
)


def of_devices(trace: TraceFile) -> Flags:
    """Flag the rows in a category of a device, and those of `on_named_lanes`."""
    return with_role(read_texts(trace.events["category"]), Role.DEVICE_ROW) | on_named_lanes(trace)


def on_named_lanes(trace: TraceFile) -> Flags:
    """Flag the rows on a lane named like a device's, in a category of neither threads nor GPU work."""
    category = read_texts(trace.events["category"])
    foreign = [not is_known(text) or has_role(text, Role.DEVICE_ROW) for text in category.values.tolist()]
    rows = category.matching(np.array(foreign, dtype=bool))
    named = {pair for pair, name in trace.thread_names.items() if _DEVICE_NAME.search(name)}
    devices = {pid for pid, name in trace.process_names.items() if _DEVICE_NAME.search(name)}
    if not rows.any() or not (named or devices):
        return np.zeros(len(rows), dtype=bool)
    pid, tid = (read_texts(trace.events[name]) for name in ("pid", "tid"))
    pairs, place = distinct_pairs(pid.codes, tid.codes)
    lanes = [(pid.values[p], tid.values[t]) for p, t in pairs]
    on_device = np.array([lane in named or lane[0] in devices for lane in lanes], dtype=bool)
    rows &= on_device[place]
    return rows
