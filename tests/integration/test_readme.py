"""The README's Cypher questions give the answers that it shows."""

import re
from pathlib import Path

from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.load import load_run
from tracegraph.store.progress import silent

ROOT = Path(__file__).parents[2]
PAIRS = re.findall(r"```cypher\n(.*?)```\n```csv\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


def test_the_answers_are_real(database: Database) -> None:
    """The questions are about a database that holds one run, so what others stored is removed first."""
    database.write("MATCH (n) DETACH DELETE n")
    tables, _ = ingest_run([ROOT / "examples" / "traces" / "simulated_gpu.json.gz"], None, silent)
    load_run(database, tables)
    answers = [_answer(database, question) for question, _ in PAIRS]
    assert answers == [answer for _, answer in PAIRS]
    assert len(PAIRS) == 5


def _answer(database: Database, question: str) -> str:
    return database.read(question).to_csv(index=False, lineterminator="\n")
