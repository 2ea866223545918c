"""The README's Cypher questions give the answers that it shows."""

import re
from pathlib import Path

from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import ConnectionSettings, Database
from tracegraph.store.progress import silent
from tracegraph.store.storing import store_and_open
from tracegraph.store.workspace import open_workspace

ROOT = Path(__file__).parents[2]
PAIRS = re.findall(r"```cypher\n(.*?)```\n```csv\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_answers_are_real(tmp_path: Path) -> None:
    tables, manifest = ingest_run([ROOT / "examples" / "traces" / "simulated_gpu.json.gz"], None, silent)
    with store_and_open(open_workspace(tmp_path), ConnectionSettings(), tables, manifest) as database:
        answers = [_answer(database, question) for question, _ in PAIRS]
    assert answers == [answer for _, answer in PAIRS]
    assert len(PAIRS) == 5


def _answer(database: Database, question: str) -> str:
    return database.read(question).to_csv(index=False, lineterminator="\n")
