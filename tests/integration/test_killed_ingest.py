"""An ingest that is killed while it stores shows nothing half, and the next one completes it.

This one kill is tested always; more of them, at random moments and on both ways, are in test_faults_client.
"""

from pathlib import Path

from commands import Command
from export import from_database, from_tables

from tracegraph.cli.main import main
from tracegraph.store.connection import Database
from tracegraph.store.workspace import Workspace

TRACE = Path(__file__).parents[2] / "examples" / "traces" / "simulated_gpu.json.gz"
RUN = "killed"
STATE = "MATCH (r:Run {name: $run}) RETURN r.state AS state"


def test_the_next_ingest_completes_what_a_killed_one_left(workspace: Workspace, database: Database) -> None:
    arguments = ["ingest", str(TRACE), "--run", RUN, "--load", "bolt"]
    command = Command(workspace.root, *arguments)
    command.wait_for("storing nodes")
    command.kill()
    assert database.read(STATE, {"run": RUN})["state"].tolist() in ([], ["loading"])
    assert workspace.manifest(RUN) is None
    # The next command of any kind removes it before it answers.
    assert (
        main(["--workspace", str(workspace.root), "cypher", "MATCH (n) WHERE n.run = 'killed' RETURN n"]) == 0
    )
    assert database.read("MATCH (n) WHERE n.run = $run OR n.name = $run RETURN n", {"run": RUN}).empty
    assert main(["--workspace", str(workspace.root), *arguments]) == 0
    assert from_database(database, RUN) == from_tables(workspace.load_run(RUN))
