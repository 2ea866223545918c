"""Which tests run, with how many random examples, in which process, and fixtures that all tests share.

Without `--all` the exhaustive tests are left out: those marked so, and all that need the folder `shared`
beside the project. With `-n 2 --dist loadgroup` two processes share the tests: those of a file stay together,
and so do all that need the same costly database.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tracegraph.ingest.integrity_findings import Finding, Integrity
from tracegraph.ingest.readers import read_trace
from tracegraph.ingest.trace import TraceFile
from tracegraph.vocabulary.integrity_codes import CODES

SHARED = Path(__file__).parents[2] / "shared"
NEEDS_SHARED = {"shared_trace", "oracle_folder", "hta_runs"}
"""Fixtures of the tests that need it."""

os.environ["TRACEGRAPH_LINGER"] = "0"  # a test's server ends with it
os.environ.pop("COLUMNS", None)  # processes of xdist have the width of its own output

_WITHOUT_SHRINKING = [phase for phase in Phase if phase is not Phase.shrink]
settings.register_profile(
    "quick",
    max_examples=8,
    derandomize=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=_WITHOUT_SHRINKING,  # a smaller example can take minutes: `--all` looks for one
)
settings.register_profile("few", settings.get_profile("quick"), max_examples=3)
settings.register_profile(
    "all", settings.get_profile("quick"), max_examples=100, derandomize=False, phases=list(Phase)
)

KNOWN = {(name, code.level) for name, code in CODES.items()}
ReadDocument = Callable[[str | bytes], tuple[TraceFile, dict[str, Finding]]]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--few", action="store_true", help="few random examples: of a version of Python")
    parser.addoption(
        "--part",
        metavar="K/N",
        default="1/1",
        help="the K-th of N parts: each N-th file of tests, from the K-th",
    )
    parser.addoption("--all", action="store_true", help="exhaustive tests, too, and more random examples")
    parser.addoption(
        "--crash-all", action="store_true", help="with --all: kills at every step instead of some, for hours"
    )
    parser.addoption(
        "--crash-trials", type=int, metavar="N", help="with --all: so many kills of each way of storing"
    )


def pytest_configure(config: pytest.Config) -> None:
    few = "few" if config.getoption("--few") else "quick"
    settings.load_profile("all" if config.getoption("--all") else few)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """The parameter's name for content: packed, it can differ from one process to the next (gzip's clock)."""
    return argname if isinstance(val, bytes) or (isinstance(val, str) and len(val) > 200) else None


@pytest.hookimpl(tryfirst=True)  # before xdist, which writes the groups into the names
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if NEEDS_SHARED & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.exhaustive)
    costly = {item.path for item in items if "hta_runs" in getattr(item, "fixturenames", ())}
    for item in items:
        item.add_marker(pytest.mark.xdist_group("hta" if item.path in costly else item.path.stem))
    part, parts = map(int, config.getoption("--part").split("/"))
    others = {path for k, path in enumerate(sorted({item.path for item in items})) if k % parts != part - 1}
    config.hook.pytest_deselected(items=[item for item in items if item.path in others])
    items[:] = [item for item in items if item.path not in others]
    if not config.getoption("--all"):
        left_out = [item for item in items if item.get_closest_marker("exhaustive")]
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=left_out)


def pytest_report_collectionfinish(config: pytest.Config) -> str:
    return "" if config.getoption("--all") else "without the exhaustive tests, which --all adds"


@pytest.fixture(scope="session", autouse=True)
def workspace_of_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give a test that names no workspace another than this user's, which any version may have made."""
    os.environ["TRACEGRAPH_WORKSPACE"] = str(tmp_path_factory.mktemp("workspace") / "runs")


@pytest.fixture(scope="session")
def shared_trace() -> Callable[[str], Path]:
    """Path of a real trace by its name below shared/traces; the test is skipped where it is absent."""

    def find(name: str) -> Path:
        path = SHARED / "traces" / name
        if not path.exists():
            pytest.skip(f"real trace {name} is not here: {path} does not exist")
        return path

    return find


@pytest.fixture(scope="session")
def oracle_folder() -> Path:
    """Where the scripts of the oracle are; the test is skipped where they are absent."""
    path = SHARED / "oracle"
    if not path.exists():
        pytest.skip(f"the oracle is not here: {path} does not exist")
    return path


@pytest.fixture
def read_document(tmp_path: Path) -> ReadDocument:
    """Read a document given as text: its trace, and the findings by their code."""

    def read(document: str | bytes) -> tuple[TraceFile, dict[str, Finding]]:
        path = tmp_path / "trace.json"
        path.write_bytes(document.encode() if isinstance(document, str) else document)
        integrity = Integrity(path.name)
        trace = read_trace(path, integrity)
        assert {(finding.code, finding.level) for finding in integrity} <= KNOWN
        return trace, {finding.code: finding for finding in integrity}

    return read
