"""One real managed Neo4j for all integration tests; each test stores runs under names of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import hta
import pytest
from storing_runs import store_run

from tracegraph.base.progress import silent
from tracegraph.cli.main import main
from tracegraph.ingest.pipeline import ingest_run
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.load.indexes import ensure_schema
from tracegraph.store.session import open_database
from tracegraph.store.workspace import Workspace, open_workspace
from tracegraph.workbench import progress_bar

EXAMPLES = Path(__file__).parents[2] / "examples" / "traces"
READY = "MATCH (r:Run {name: $run, state: 'ready'}) RETURN r"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.integration)


@pytest.fixture(autouse=True)
def no_lines_about_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands on stderr is no matter of how busy the machine is."""
    monkeypatch.setattr(progress_bar, "_OFTEN_S", 100_000.0)


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The workspace of the shared server."""
    return open_workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="session")
def database(workspace: Workspace) -> Iterator[Database]:
    """A connection to the shared managed server, with the schema's indexes; it stops when the tests end."""
    with open_database(workspace, ConnectionSettings()) as connection:
        ensure_schema(connection)
        yield connection


@pytest.fixture
def tracegraph(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in the shared workspace: its exit code, and what it printed to stdout and stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main(["--workspace", str(workspace.root), *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="session")
def stored_example(workspace: Workspace, database: Database) -> Callable[[str], str]:
    """Name of the run of an example trace, stored when it is not there; no test changes these runs."""

    def store(name: str) -> str:
        run = f"example-{name}"
        if database.read(READY, {"run": run}).empty:
            tables, manifest = ingest_run([EXAMPLES / f"{name}.json.gz"], run, silent)
            store_run(workspace, ConnectionSettings(), tables, manifest, load="bolt")
        return run

    return store


@pytest.fixture(scope="session")
def hta_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hta.HtaRuns]:
    """The traces of which HTA's numbers are known, stored; tests that need them are skipped without."""
    if not hta.EXPECTED.is_dir():
        pytest.skip(f"HTA's numbers are not here: {hta.EXPECTED} does not exist")
    with hta.hta_runs(open_workspace(tmp_path_factory.mktemp("hta"))) as runs:
        yield runs
