"""`what-if --keep` and `verify` on a real server: a scenario is asked about as any run."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tracegraph.base.errors import InputError
from tracegraph.cli.main import main
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench
from tracegraph.workbench.run import Run

pytestmark = pytest.mark.usefixtures("database")
Stored = Callable[[str], str]
QUESTIONS = {
    "no-kernels": ("simulated_gpu", {"remove": "category=kernel"}),
    "slow-kernels": ("simulated_gpu", {"scale": [(3, "category=kernel")]}),
    "no-gpu": ("simulated_gpu", {"scale": [(0, "category=kernel"), (0, "category=gpu_memcpy")]}),
    "no-waits": ("simulated_gpu", {"remove_wait": "waiting for GPU"}),
    "no-decoding": ("slow_loader", {"remove": "under=decode batch"}),
}
QUICK = {"no-kernels", "no-waits", "no-decoding"}
"""One of each kind: work that goes, waits that go, and what a name holds."""


@pytest.fixture
def bench(workspace: Workspace) -> Workbench:
    return Workbench(workspace, ConnectionSettings())


@pytest.fixture
def kept(bench: Workbench) -> Iterator[Callable[[Run, str], Run]]:
    """Keep the scenario of a question about a run; it goes when the test ends."""
    made: list[Run] = []

    def keep(run: Run, name: str) -> Run:
        made.append(run.what_if(**QUESTIONS[name][1]).keep(name))
        return made[-1]

    yield keep
    for scenario in made:
        scenario.delete()


@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=() if one in QUICK else pytest.mark.exhaustive) for one in QUESTIONS],
)
def test_the_path_of_a_scenario_is_as_long_as_was_predicted(
    name: str, bench: Workbench, stored_example: Stored, kept: Callable[[Run, str], Run]
) -> None:
    run = bench.run(stored_example(QUESTIONS[name][0]))
    naive = run.what_if(**QUESTIONS[name][1]).prediction.naive
    scenario = kept(run, name)
    path = scenario.critical_path()
    assert (path["end_ns"] - path["start_ns"]).sum() == naive.predicted_ns
    assert (path["start_ns"].to_numpy()[1:] == path["end_ns"].to_numpy()[:-1]).all()
    rows = bench.workspace.load_run(name).rows["critical_path"].to_pandas()
    shared = [column for column in path.columns if column in rows.columns]
    assert {"name", "start_ns", "end_ns", "dependency", "mechanism", "lag_ns"} <= set(shared)
    for column in shared:
        mine, stored = path[column].astype(object), rows[column].astype(object)
        same = (mine == stored) | (mine.isna() & stored.isna())
        assert same.all(), column
    steps, before = scenario.steps(), run.steps()
    assert steps["number"].tolist() == before["number"].tolist()
    assert (np.diff(steps["start_ns"]) > 0).all()
    for number in steps["number"]:
        one = scenario.critical_path(step=int(number))
        window = steps.set_index("number").loc[number]
        assert (one["end_ns"] - one["start_ns"]).sum() == window["window_end_ns"] - window["start_ns"]


def test_a_scenario_is_listed_and_reported_on_but_never_the_default(
    bench: Workbench,
    stored_example: Stored,
    kept: Callable[[Run, str], Run],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run = bench.run(stored_example("slow_loader"))
    newest, newest_kept = bench.run().name, bench.kept_run().name
    scenario = kept(run, "no-decoding")
    again = run.what_if(**QUESTIONS["no-decoding"][1]).keep("no-decoding")
    assert (bench.run().name, bench.kept_run().name) == (newest, newest_kept)
    listed = bench.runs().set_index("name")["scenario_of"]
    assert listed["no-decoding"] == run.name
    assert pd.isna(listed[run.name])
    details = again.run_details().iloc[0]
    assert json.loads(details["change"])["change"]["remove"] == ["under=decode batch"]
    written = scenario.report().save(tmp_path)
    assert written.left_out == {"overlay.json.gz": "no-decoding is a scenario: its times are no file's"}
    more = scenario.what_if("name=aten::*").prediction
    assert 0 < more.naive.predicted_ns < more.naive.base_ns
    assert details["window_end_ns"] - details["window_start_ns"] == more.naive.base_ns
    place = ["--workspace", str(bench.workspace.root), "--quiet"]
    assert main([*place, "verify", "no-decoding", stored_example("train_small")]) in (0, 1)
    assert "measured" in capsys.readouterr().out
    assert main([*place, "verify", "no-decoding", run.name, "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["base"], found["holds"], found["measured"]["gain_ns"]) == (run.name, False, 0)


def test_a_scenario_replaces_no_other_run(
    bench: Workbench, stored_example: Stored, kept: Callable[[Run, str], Run]
) -> None:
    run = bench.run(stored_example("slow_loader"))
    found = run.what_if("under=decode batch")
    with pytest.raises(InputError, match="holds another scenario or file"):
        found.keep(run.name)
    kept(run, "no-decoding")
    with pytest.raises(InputError, match="holds another scenario or file"):
        run.what_if("name=aten::*").keep("no-decoding")
