"""The answers that ingest keeps beside a run are those that its stored graph gives."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from tracegraph.cli.answers import Answers
from tracegraph.cli.collect import collect_findings
from tracegraph.cli.path_sums import largest_events, largest_gaps
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.queries import catalog, inventory
from tracegraph.queries.path import hotspots, path_gaps
from tracegraph.store.connection import Database
from tracegraph.store.load import delete_run, load_run
from tracegraph.store.progress import silent
from tracegraph.store.tables import GraphTables
from tracegraph.store.workspace import Workspace, open_workspace

TRACES = Path(__file__).parents[2] / "examples" / "traces"
OWN = ["simulated_gpu.json.gz", "train_small.json.gz", "slow_loader.json.gz", "two_threads.json.gz"]
REAL = [
    "b1_hta_alexnet_cuda_sync.json.gz",
    "a4_nanogpt_h100_rank0_of_8.json.gz",
    "a6_torchao_ep_moe_b200_rank0_of_2.json.gz",
    "h2_hta_mi250_minitoy_train.json.gz",
    "a3_torchrec_sst_v100_4rank/rank3.pt.trace.json.gz",
    "torch_cpu/ddp_gloo_w2_straggler200_rank0.json.gz",
    "torch_cpu/two_threads_gil.json.gz",
]


@contextmanager
def stored(database: Database, folder: Path, trace: Path) -> Iterator[tuple[GraphTables, Workspace]]:
    """The run in both places; it leaves the database, which all tests share, as it was."""
    tables, manifest = ingest_run([trace], f"answers-{trace.name}", silent)
    workspace = open_workspace(folder)
    workspace.save_run(tables, manifest)
    load_run(database, tables)
    try:
        yield tables, workspace
    finally:
        delete_run(database, tables.run)


def check(database: Database, tables: GraphTables, workspace: Workspace) -> None:
    kept = Answers(database, tables.run, workspace)
    for query, table in tables.answers.items():
        parameters = json.loads(table.schema.metadata[b"parameters"])
        asked = catalog.find(query).run(database, {"run": tables.run, **parameters})
        pd.testing.assert_frame_equal(kept.of(query, parameters), asked, obj=query)
    asked = json.loads(tables.answers["critical_path"].schema.metadata[b"parameters"])
    rows = kept.of("critical_path", asked)
    for ours, theirs in (
        (largest_events(rows, 10), hotspots(database, tables.run, **asked, limit=10)),
        (largest_gaps(rows), path_gaps(database, tables.run, **asked)),
    ):
        assert ours.to_dict("records") == theirs.to_dict("records")


@pytest.mark.parametrize("name", OWN)
def test_own_traces(database: Database, tmp_path: Path, name: str) -> None:
    with stored(database, tmp_path, TRACES / name) as run:
        check(database, *run)


@pytest.mark.parametrize("name", REAL)
def test_real_traces(
    database: Database, tmp_path: Path, shared_trace: Callable[[str], Path], name: str
) -> None:
    with stored(database, tmp_path, shared_trace(name)) as run:
        check(database, *run)


def test_only_the_very_same_question_is_answered_from_the_tables(database: Database, tmp_path: Path) -> None:
    with stored(database, tmp_path, TRACES / OWN[0]) as (tables, workspace):
        parameters = json.loads(tables.answers["lane_waits"].schema.metadata[b"parameters"])
        manifest = workspace.manifest(tables.run)
        assert manifest is not None

        def kept(created: str, asked: dict[str, object]) -> bool:
            return workspace.answer(tables.run, created, "lane_waits", asked) is not None

        assert kept(str(manifest["created"]), parameters)
        assert not kept(str(manifest["created"]), {**parameters, "limit": 1})
        assert not kept("earlier", parameters)
        assert workspace.answer(tables.run, str(manifest["created"]), "hotspots", {}) is None


def test_a_report_needs_indexes_only_for_what_is_not_kept(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    read = Database.read

    def recorded(self: Database, query: str, parameters: Mapping[str, object] | None = None) -> pd.DataFrame:
        sent.append(query)
        return read(self, query, parameters)

    def ask(run: str, step: int | None, workspace: Workspace) -> list[bool]:
        """Whether each statement waits for indexes, in the order sent, without those that need none."""
        sent.clear()
        collect_findings(database, run, step=step, top=10, timings_s={}, progress=silent, workspace=workspace)
        return [
            "SHOW INDEXES" in text for text in sent if re.search("SHOW INDEXES|:Segment|:Event|:Chain", text)
        ]

    with stored(database, tmp_path, TRACES / OWN[0]) as (tables, workspace):
        number = int(inventory.steps(database, tables.run)["number"].iloc[0])
        monkeypatch.setattr(Database, "read", recorded)
        assert ask(tables.run, None, workspace) == []
        waits = ask(tables.run, number, workspace)
        assert waits[0]
        assert not all(waits)
