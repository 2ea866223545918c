"""What the driver logs is not told beside the error that it raises, unless logging is asked for."""

import subprocess
import sys
from pathlib import Path

import pytest

ASK = """
import sys, logging
from tracegraph.workbench import Workbench
if sys.argv[2] == "logging":
    logging.basicConfig()
try:
    Workbench.open("neo4j://127.0.0.1:1", workspace=sys.argv[1])
except Exception as error:
    print(error, file=sys.stderr)
"""


@pytest.mark.parametrize("logs", ["", "logging"])
def test_a_server_that_is_not_there_is_one_line(logs: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", ASK, str(tmp_path), logs]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stderr
    assert "the Neo4j server at neo4j://127.0.0.1:1 cannot be reached" in said
    assert (said.count("\n") > 1) == bool(logs)
