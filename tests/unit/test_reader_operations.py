"""Operation logs: what is read of them, how their ranks meet, and what is said of unusable rows."""

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from operation_logs import Job, usual

from tracegraph.base.errors import InputError
from tracegraph.ingest.convert import convert_trace
from tracegraph.ingest.inspection import inspect_traces
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.limits import Limits
from tracegraph.ingest.ranks.job import Job as RankedJob
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import understand
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import as_source
from tracegraph.vocabulary.mechanisms import CODE, MECHANISMS, QUEUE_START

EVEN = Job(2, 2, 3)
LOG = EVEN.log(2, EVEN.times(2, usual({(1, 0): 2.0})))


def written(log: pd.DataFrame, folder: Path, name: str = "job.csv") -> Path:
    path = folder / name
    if name.endswith(".parquet"):
        log.to_parquet(path)
    else:
        path.write_text(log.to_csv(index=False))
    return path


def joined(path: Path) -> RankedJob:
    ranks = read_ranks(as_source(path).located, Integrity(path.name))
    return build_job([understand(trace, own) for trace, own in ranks])


def test_parquet_csv_and_packed_csv_hold_the_same(tmp_path: Path) -> None:
    paths = [written(LOG, tmp_path, name) for name in ("a.parquet", "a.csv")]
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(paths[1].read_bytes()))
    tables = [read_trace(path, Integrity("")).events.to_pandas() for path in (*paths, packed)]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert len(tables[0]) == len(LOG) + 2 * 4


def test_workers_are_ranks_with_queues_and_steps_one_after_the_other(tmp_path: Path) -> None:
    job = joined(written(LOG, tmp_path))
    lanes, steps = job.model.lanes.frame, job.model.steps
    assert sorted(set(lanes["rank"])) == [0, 1, 2, 3]
    assert "rank 2: GPU 0 stream forward-recv" in set(lanes["name"])
    assert sorted(set(steps.number.tolist())) == [10, 11]
    first, second = (steps.number == number for number in (10, 11))
    assert (steps.start[second] == steps.end[first].max()).all()
    assert (steps.of_event != np.iinfo(np.int64).min).all()


def test_ranks_meet_where_the_published_model_says(tmp_path: Path) -> None:
    met = joined(written(LOG, tmp_path)).model.meetings
    assert met is not None
    kinds = pd.Series(met.name).value_counts().to_dict()
    # In each of 2 steps: 3 messages each way in 2 pipelines; 2 stages gather and reduce, each of 2 ranks;
    # the embedding in 2 pipelines, and the clip of all.
    assert kinds.pop("send") + kinds.pop("recv") == 24
    assert kinds == {"all_gather": 4, "reduce_scatter": 4, "all_reduce": 2 * (2 + 1)}
    assert met.recorded.all()
    assert met.size.max() == 4


def test_the_slow_worker_is_on_the_path_and_every_gap_is_explained(tmp_path: Path) -> None:
    model = joined(written(LOG, tmp_path)).model
    segments = model.segments
    length = np.where(model.on_path, segments.end - segments.start, 0)
    work = length * (segments.work > 0)
    assert work.sum() == pytest.approx(model.window.end - model.window.start, rel=0.01)
    by_rank = np.bincount(model.lanes.rank[segments.lane], work)
    assert by_rank.argmax() == 1
    found = model.dependencies.mechanism[model.dependencies.binding]
    told = {MECHANISMS[code].name for code in found.tolist()}
    assert told == {"operation order", "stream order", "collective", "program order"}


def test_no_work_is_bound_to_the_begin_of_the_log_where_rows_overlap(tmp_path: Path) -> None:
    """`gc` has no length and begins within the computation before it, as clocks differ."""
    early = LOG.copy()
    early.loc[early["optype"] == "gc", "start_ts"] -= 1e-6
    model = joined(written(early, tmp_path)).model
    found = model.dependencies
    free = found.effect[found.binding & (found.mechanism == CODE[QUEUE_START])]
    assert (model.segments.start[free] < model.steps.end.min()).all()
    assert "gc" not in set(model.events.name[model.segments.event[free]])


def test_a_log_without_chunks_has_one_a_stage(tmp_path: Path) -> None:
    short = written(LOG.drop(columns=["mc", "gmc", "mb_id"]), tmp_path)
    assert (
        read_trace(short, Integrity("")).orders.num_rows
        == read_trace(written(LOG, tmp_path, "whole.csv"), Integrity("")).orders.num_rows
    )


def test_one_worker_alone_is_read_as_one_rank(tmp_path: Path) -> None:
    one = Job(1, 1, 2)
    ranks = read_ranks(as_source(written(one.log(1, one.times(1, usual())), tmp_path)).located, Integrity(""))
    assert [trace.rank for trace, _ in ranks] == [0]


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("duration", -1.0, "duration_negative"),
        ("duration", float("nan"), "duration_missing"),
        ("start_ts", float("inf"), "start_missing"),
    ],
)
def test_rows_without_a_usable_time_are_counted(tmp_path: Path, column: str, value: float, code: str) -> None:
    log = LOG.copy()
    log.loc[log.index[5], column] = value
    integrity = Integrity("")
    trace = read_trace(written(log, tmp_path), integrity)
    found = {finding.code: finding for finding in integrity}
    assert "source index 5" in found[code].message
    assert found["operations_incomplete"].message.startswith("steps lack operations that most have")
    assert trace.operations.num_rows == len(LOG) - 1


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        ({"optype": "evil\n-compute"}, r"unknown type: 'evil\\n-compute'", "forward-compute, backward"),
        ({"stage": 7, "dp_rank": 0}, "holds a worker twice: rank 0 at dp_rank 0, stage 0", "its own rank"),
        ({"rank": None}, "has no rank in row 3", "for every operation"),
    ],
)
def test_a_log_that_cannot_be_understood_is_refused(
    tmp_path: Path, change: dict[str, object], message: str, hint: str
) -> None:
    log = LOG.astype(object)
    for column, value in change.items():
        log.loc[log.index[3], column] = value
    with pytest.raises(InputError, match=message) as refused:
        read_trace(written(log, tmp_path), Integrity(""))
    assert hint in (refused.value.hint or "")


def test_columns_of_other_kinds_and_damage_are_refused(tmp_path: Path) -> None:
    words = LOG.assign(duration="long")
    with pytest.raises(InputError, match="column duration holds string instead of seconds"):
        read_trace(written(words, tmp_path), Integrity(""))
    broken = written(LOG, tmp_path, "broken.csv")
    broken.write_text(broken.read_text() + "1,2\n")
    with pytest.raises(InputError, match="is a damaged operation log"):
        read_trace(broken, Integrity(""))
    with pytest.raises(InputError, match="more than 10 entries"):
        read_trace(written(LOG, tmp_path, "many.parquet"), Integrity("", Limits(events=10)))
    with pytest.raises(InputError, match="is operation log, which cannot be converted"):
        convert_trace(written(LOG, tmp_path), tmp_path / "trace.json")


def test_other_parquet_and_csv_are_no_operation_logs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is Parquet, but no trace that tracegraph wrote"):
        read_trace(written(LOG.drop(columns="optype"), tmp_path, "t.parquet"), Integrity(""))
    with pytest.raises(InputError):
        read_trace(written(LOG.drop(columns="optype"), tmp_path), Integrity(""))


def test_doctor_says_what_a_log_holds(tmp_path: Path) -> None:
    (whole,), job = inspect_traces([as_source(written(LOG, tmp_path)).located])
    assert not isinstance(whole, InputError)
    assert (whole.ranks, whole.steps, whole.threads) == ((0, 1, 2, 3), 8, 0)
    assert {finding.level for finding in whole.findings} <= {"info"}
    assert job is not None
    assert not isinstance(job, InputError)
    assert job.ranks == (0, 1, 2, 3)
