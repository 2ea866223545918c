"""What a report says of fixes is what their commands say, on recorded and simulated files."""

import json
import shlex
from pathlib import Path

import pytest

from tracegraph.base.progress import silent
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.ingest.what_if.fixes.registry import ASKED
from tracegraph.ingest.what_if.scenarios.keep import find_scenario
from tracegraph.ingest.what_if.scenarios.kept_graph import read_graph
from tracegraph.workbench.what_if.answer import Question, answer

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"


def question_of(command: str) -> Question:
    """What a command line asks."""
    words = shlex.split(command)[2:]
    taken: dict[str, list[str]] = {"remove": [], "remove-wait": [], "no-stragglers": [], "workers": []}
    fixes: list[tuple[str, str]] = []
    while words:
        option = words.pop(0)[2:]
        if option == "no-stragglers":
            taken[option].append(option)
        elif option == "precision":
            fixes.append((words.pop(0), words.pop(0)))
        elif option in ASKED:
            fixes.append((option, words.pop(0)))
        else:
            taken[option].append(words.pop(0))
    return Question(
        remove=taken["remove"],
        remove_wait=taken["remove-wait"],
        assume=taken["no-stragglers"],
        fixes=fixes,
        workers=int(taken["workers"][0]) if taken["workers"] else 1,
    )


@pytest.mark.parametrize("name", ["slow_loader", "two_threads", "train_small", "simulated_gpu"])
def test_the_command_of_each_fix_says_what_the_report_says(name: str) -> None:
    check(EXAMPLES / f"{name}.json.gz")


def check(*files: Path) -> int:
    """Ask all that a run shows; how many that is."""
    tables = ingest_run(files, "run", silent)[0].completed()
    graph = read_graph(tables)
    rows = json.loads(tables.nodes["Run"]["fixes"][0].as_py())
    gains = [row["gain_ns"] for row in rows]
    assert gains == sorted(gains, reverse=True)
    for row in rows:
        found = answer(graph, "run", question_of(row["command"]))
        predicted = found.prediction
        said = (row["gain_ns"], row["low_ns"], row["high_ns"])
        assert said == (predicted.corrected.gain_ns, predicted.low.gain_ns, predicted.high.gain_ns), row
        edit = found.change.edit
        if edit is None or not edit.lane.any():  # what is done ahead, and launches something, is not kept
            kept = find_scenario(tables, graph, found.span, found.change, predicted)
            assert kept.window.end - kept.window.start == predicted.naive.predicted_ns
    told = json.loads(tables.nodes["Run"]["bounds"][0].as_py())
    assert max(row["length_ns"] for row in told["floors"]) <= told["base_ns"]
    return len(rows)
