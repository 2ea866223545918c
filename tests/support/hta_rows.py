"""The rows of a trace as its file has them, for tests: JSON and pandas alone, nothing of the product.

Section numbers are those of HTA's definitions in ../shared/expected/hta/README.md.
"""

import gzip
import json
import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

WORK = ("kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset")
RATE = "memory bandwidth (GB/s)"
_STEP = re.compile(r"ProfilerStep#\d+")
_COMMUNICATION = re.compile(r"nccl|hip|hccl|.*ncclKernel")
_MEMORY = re.compile(r"(hip)?Memcpy|(hip)?Memset|dma")
_NO_COMPUTATION = re.compile(
    r".*Memcpy|.*Memset|.*dma|.*Sync|Stream Wait Event|cuda.*LaunchKernel|runFunction|job_exe|packet|pe_exe"
)


@cache
def raw_rows(path: Path) -> pd.DataFrame:
    """The rows that HTA keeps (§1), in the order of the file; `index` is the position in the file.

    Times in ns from the file's own digits, and as numbers in µs as HTA reads them. `kind` is HTA's kind of
    kernel (§3), `is_work` what GPUs do, `on_gpu` what HTA links as GPU rows.
    """
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    listed = json.loads(text, parse_float=Decimal, strict=False)["traceEvents"]
    fractional = any(isinstance(row.get("ts"), Decimal) or row.get("ts") is None for row in listed)
    kept = [
        _row(at, row)
        for at, row in enumerate(listed)
        if row.get("dur") is not None and row.get("cat") is not None and row["cat"] != "Trace"
    ]
    rows = pd.DataFrame(kept)
    rows.index = rows["index"].to_list()
    rows["kind"] = rows["name"].map({name: hta_kind(name) for name in rows["name"].unique()})
    rows["is_work"] = rows["category"].str.lower().isin(WORK)
    waits = rows["name"].isin(["Event Sync", "Context Sync"])
    rows["on_gpu"] = ((rows["stream"] >= 0) & (rows["correlation"] >= 0)) | waits
    rows["partner"] = _partners(rows)
    rows.attrs["fractional"] = fractional
    return rows


def _row(at: int, row: dict) -> dict:
    arguments = row.get("args") or {}
    stream = arguments.get("stream", -1)
    try:
        stream = -1 if isinstance(stream, bool) else int(float(stream))
    except (TypeError, ValueError):
        stream = -1
    start, length = Decimal(row["ts"]), Decimal(row["dur"])
    return {
        "index": at,
        "name": row["name"],
        "category": row["cat"],
        "start": int(start * 1000),
        "end": int(start * 1000) + int(length * 1000),
        "start_us": float(start),
        "length_us": float(length),
        "stream": stream,
        "correlation": int(arguments.get("correlation", -1)),
        "bytes": arguments.get("bytes"),
        "rate": float(arguments.get(RATE, 0)),
    }


def hta_kind(name: str) -> str:
    """HTA's kind of kernel (§3)."""
    if _COMMUNICATION.match(name):
        return "communication"
    if _MEMORY.match(name):
        return "memory"
    return "other" if _NO_COMPUTATION.match(name) else "computation"


def _partners(rows: pd.DataFrame) -> pd.Series:
    """The partner's index: 0 where there is none, -1 without correlation; of several the last (§1)."""
    found = rows["correlation"].clip(upper=0)
    has = rows["correlation"] != -1
    for mine, theirs in ((rows["on_gpu"], ~rows["on_gpu"]), (~rows["on_gpu"], rows["on_gpu"])):
        last = rows[theirs & has].drop_duplicates("correlation", keep="last")
        place = rows["correlation"][mine & has].map(last.set_index("correlation")["index"])
        found = found.mask(mine & has & place.reindex(found.index).notna(), place.reindex(found.index))
    return found.astype("int64")


def rows_by(
    ids: Collection[str], files: Sequence[Path], clocks: Sequence[tuple[int, int, int]]
) -> list[pd.DataFrame]:
    """The rows of each rank by our rules, or as far as `ids` name them by HTA's.

    `clocks`: offset in ns, drift in ns/s and since when, of the rows of each rank's GPU.
    """
    ranks = [raw_rows(path) for path in files]
    if "W1" in ids and any(rows.attrs["fractional"] for rows in ranks):
        ranks = [_whole_microseconds(rows) if rows.attrs["fractional"] else rows for rows in ranks]
    if "D1" not in ids:
        ranks = [_clock_put_right(rows, *clock) for rows, clock in zip(ranks, clocks, strict=True)]
    names = step_names(ranks)
    if len(names) > 1:
        ranks = [_cut(rows, names, ids) for rows in ranks]
    return ranks


def step_names(ranks: Sequence[pd.DataFrame]) -> set[str]:
    """The names of the steps that HTA knows."""
    return {name for rows in ranks for name in rows["name"].unique() if _STEP.match(name)}


def gpu_rows(rows: pd.DataFrame, ids: Collection[str]) -> pd.DataFrame:
    """The GPU work; with W5 and W6 also rows of CPU operators and of cuda_sync that have a stream."""
    chosen = rows["is_work"]
    on_stream = rows["stream"] != -1
    syncs = rows["category"] == "cuda_sync"
    if "W5" in ids:
        chosen = chosen | (on_stream & ~syncs)
    if "W6" in ids:
        chosen = chosen | (on_stream & syncs)
    return rows[chosen]


def _whole_microseconds(rows: pd.DataFrame) -> pd.DataFrame:
    start, end = np.ceil(rows["start_us"]), np.floor(rows["start_us"] + rows["length_us"])
    times = {"start": start.astype("int64") * 1000, "end": end.astype("int64") * 1000}
    return rows.assign(**times)


def _clock_put_right(rows: pd.DataFrame, offset: int, drift: int, since: int) -> pd.DataFrame:
    def move(times: pd.Series) -> pd.Series:
        more = np.rint((times - since) * (drift * 1e-9)).astype("int64")
        return times + (offset + more).where(rows["is_work"], 0)

    return rows.assign(start=move(rows["start"]), end=move(rows["end"])) if offset or drift else rows


def _cut(rows: pd.DataFrame, steps: set[str], ids: Collection[str]) -> pd.DataFrame:
    """Without the last step (S1), and without GPU rows whose call is not among the rest (S2)."""
    host = rows[~rows["on_gpu"]]
    if "S1" in ids:
        host = host[host["start"] < host["start"][host["name"].isin(steps)].max()]
    if not {"S1", "S2"} & set(ids):
        return rows
    known = rows["correlation"].isin(host["correlation"])
    return rows[(rows["on_gpu"] & known) | rows["index"].isin(host["index"])]
