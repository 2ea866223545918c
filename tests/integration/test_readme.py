"""The README's Cypher questions give the answers that it shows."""

import re
from collections.abc import Callable
from pathlib import Path

from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.workspace import Workspace
from tracegraph.workbench.bench import Workbench

ROOT = Path(__file__).parents[2]
PAIRS = re.findall(r"```cypher\n(.*?)```\n```csv\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_answers_are_real(
    workspace: Workspace, database: Database, stored_example: Callable[[str], str]
) -> None:
    """Each is about one run, whatever else is stored."""
    stored_example("two_threads")
    bench = Workbench(workspace, ConnectionSettings())
    run = bench.run(stored_example("simulated_gpu"))
    with bench.answers():
        answers = [run.cypher(question).to_csv(index=False, lineterminator="\n") for question, _ in PAIRS]
    assert answers == [answer for _, answer in PAIRS]
    assert len(PAIRS) == 5
