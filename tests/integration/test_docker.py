"""The same graph through the official image in Docker; skipped where there is no engine or no image."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from export import from_database, from_tables
from hostile import hostile_graph

from tracegraph.base.errors import InputError, StoreError
from tracegraph.store.connection import Database
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.session import open_database
from tracegraph.store.storing import store_and_open
from tracegraph.store.workspace import open_workspace

pytestmark = [pytest.mark.docker, pytest.mark.exhaustive]

_COMPOSE = Path(__file__).parents[2] / "docker" / "compose.yaml"
_PASSWORD = "for-these-tests"
# The clean-up container of testcontainers cannot be pulled everywhere; `with` removes ours.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")


def image() -> str:
    """The image that docker/compose.yaml names."""
    found = re.search(r"^ +image: (\S+)$", _COMPOSE.read_text(), re.MULTILINE)
    assert found
    return found[1]


@pytest.fixture(scope="module")
def settings() -> Iterator[ConnectionSettings]:
    """How to connect to a container of the image."""
    docker = pytest.importorskip("docker")
    neo4j_container = pytest.importorskip("testcontainers.community.neo4j")
    try:
        docker.from_env().images.get(image())
    except docker.errors.ImageNotFound:
        pytest.skip(f"no image {image()} here: docker pull {image()}")
    except docker.errors.DockerException as error:
        pytest.skip(f"no Docker engine here: {str(error).splitlines()[0]}")
    with neo4j_container.Neo4jContainer(image=image(), password=_PASSWORD) as container:
        yield ConnectionSettings(container.get_connection_url(), "neo4j", _PASSWORD, "neo4j")


@pytest.fixture(scope="module")
def container(settings: ConnectionSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A connection to the container, opened as a command does."""
    workspace = open_workspace(tmp_path_factory.mktemp("docker"))
    with open_database(workspace, settings) as database:
        assert not workspace.has_database()
        yield database


def test_the_container_holds_the_same_graph(settings: ConnectionSettings, tmp_path: Path) -> None:
    workspace, tables = open_workspace(tmp_path), hostile_graph("docker")
    manifest: dict[str, object] = {"run": "docker", "created": "2026-01-01", "sources": [{"sha256": "00"}]}
    for _ in range(2):  # the second time it replaces itself
        with store_and_open(workspace, settings, tables, manifest) as database:
            assert from_database(database, "docker") == from_tables(tables)
    assert workspace.manifests() == [manifest]
    assert not workspace.has_database()


def test_the_container_is_the_real_server(container: Database) -> None:
    versions = container.read(
        "CALL dbms.components() YIELD versions, edition RETURN versions[0] AS v, edition"
    )
    assert versions["edition"].tolist() == ["community"]
    assert versions["v"].iloc[0].startswith("5.26.")


def test_the_container_refuses_writes_in_reading(container: Database) -> None:
    with pytest.raises(InputError, match="writes"):
        container.read("CREATE (:Refused)")


def test_the_container_refuses_a_wrong_password(settings: ConnectionSettings, tmp_path: Path) -> None:
    wrong = ConnectionSettings(settings.uri, "neo4j", "wrong-password", "neo4j")
    with pytest.raises(StoreError, match="refuses the login"), open_database(open_workspace(tmp_path), wrong):
        pass
