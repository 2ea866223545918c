"""The managed server: one Neo4j process for a workspace, found by its state file."""

import json
import socket
import subprocess
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import psutil

from tracegraph.base.disk import check_space
from tracegraph.base.errors import StoreError
from tracegraph.base.progress import Progress
from tracegraph.store.connection_settings import ConnectionSettings
from tracegraph.store.managed.java import install, java
from tracegraph.store.managed.java.config import HOST, USERNAME, Ports, configuration
from tracegraph.store.managed.server import guardian, processes, served_database
from tracegraph.store.managed.server.home import is_prepared, prepare, write_private
from tracegraph.store.workspace import Workspace

_START_LIMIT_S = 300.0  # usually 5 to 8 s; a machine with many waiting jobs needs far longer
_REPLACED_GRACE_S = 1.0
"""How long a server that is replaced may take to end before it is killed."""
_BRIEF_BYTES = 64 << 20
"""A server whose database is smaller than this runs without Java's late optimisation."""
_POLL_S = 0.05
"""The pause between two looks at a process."""
_PORT_TAKEN = "already in use"


class UnopenableError(StoreError):
    """The server runs, but what it stored before is damaged."""


class EndedError(StoreError):
    """The server's process ended before it answered."""


@dataclass(frozen=True)
class ServerState:
    """The content of server.json about a running server; the file's time is the server's last use."""

    pid: int
    bolt: int
    http: int | None
    linger_s: float | None  # how long it stays unused; None: `tracegraph db start` keeps it
    database: str = served_database.NAMES[0]

    @property
    def keep(self) -> bool:
        """Whether it stays until somebody stops it."""
        return self.linger_s is None

    @property
    def ports(self) -> Ports:
        """The ports it listens on."""
        return Ports(self.bolt, self.http)


def running(workspace: Workspace) -> ServerState | None:
    """Return the workspace's server if its process is alive, whatever the state file claims; else None.

    A process with the recorded pid counts only if its command line names this workspace's home.
    """
    try:
        state = ServerState(**json.loads(workspace.server_file.read_text()))
        process = psutil.Process(state.pid)
    except (OSError, ValueError, TypeError, psutil.Error):
        return None
    return state if _is_alive(process, workspace) else None


def start(workspace: Workspace, progress: Progress, *, keep: bool = False) -> ServerState:
    """Return the running server of the workspace, or start it; it is ready when Bolt answers.

    The caller holds `workspace.server_lock`.

    Raises
    ------
    StoreError
        Neo4j cannot be installed, or the server does not come up; the message has the end of its log.
    """
    state = running(workspace)
    serving = served_database.current(workspace.neo4j_home).database
    if state is not None and state.database != serving:
        stop(workspace)  # a rebuild was killed before its database was complete
        served_database.discard_unserved(workspace.neo4j_home)
        keep, state = keep or state.keep, None
    if state is None or not _answers(workspace, state, progress):
        check_space(workspace.root)
        install.install(progress)
        end_strays(workspace.neo4j_home)
        try:
            if not is_prepared(workspace.neo4j_home):
                prepare(workspace, workspace.neo4j_home)
            return _start_on_free_ports(workspace, serving, progress, keep=keep)
        except OSError as error:
            raise _unstartable(workspace, error) from error
    return linger(workspace, state, None) if keep else state


def linger(workspace: Workspace, state: ServerState, linger_s: float | None) -> ServerState:
    """Note that the server was used just now, and how long it stays from now on.

    The caller holds `workspace.server_lock`.
    """
    noted = replace(state, linger_s=linger_s)
    _write_state(workspace, noted)
    return noted


def begin(workspace: Workspace, linger_s: float) -> None:
    """Begin to start the server if nothing else has to be done first; do not wait for it, as `start` does.

    The caller holds `workspace.server_lock`. The server stays for `linger_s` without use.
    """
    home = workspace.neo4j_home
    is_sound = served_database.is_recorded(home) and (home / "data").exists()
    if running(workspace) is None and install.is_installed() and (is_sound or not home.exists()):
        end_strays(home)
        if not is_prepared(home):
            prepare(workspace, home)
        state = _launch(workspace, _free_ports(), served_database.current(home).database, keep=False)
        linger(workspace, state, linger_s)


def _answers(workspace: Workspace, state: ServerState, progress: Progress) -> bool:
    """Wait for a server that somebody started; tell whether it answers, not having ended just then."""
    try:
        _wait_until_ready(workspace, state, progress)
    except EndedError:
        return False
    return True


def restart_on(workspace: Workspace, database: str, progress: Progress) -> ServerState:
    """Serve another database of the home; the next `start` undoes that unless the home's record names it.

    The caller holds `workspace.server_lock`, and nobody uses the server.

    Raises
    ------
    StoreError
        The server does not come up; the message has the end of its log.
    """
    old = running(workspace)
    stop(workspace)
    try:
        return _start_on_free_ports(workspace, database, progress, keep=old is not None and old.keep)
    except OSError as error:
        raise _unstartable(workspace, error) from error


def put_back(workspace: Workspace, *, keep: bool) -> None:
    """Undo a broken `restart_on`: if it is to `keep` running, what the home's record names serves again.

    The call does not wait for that server, and at most a moment for the other: an interrupted command ends
    here.
    """
    if not keep:
        stop(workspace, at_once=True)
        return
    if (state := running(workspace)) is not None:
        # Two servers cannot share a home. What this one served was read only, or is thrown away.
        processes.end(psutil.Process(state.pid), _REPLACED_GRACE_S)
    _launch(workspace, _free_ports(), served_database.current(workspace.neo4j_home).database, keep=True)


def stop(workspace: Workspace, *, at_once: bool = False) -> bool:
    """Stop the workspace's server and tell whether one ran; the caller holds `workspace.server_lock`.

    With `at_once` the server is asked to end and forgotten without waiting: the next `start` waits.
    """
    state = running(workspace)
    if state is not None and at_once:
        psutil.Process(state.pid).terminate()
    elif state is not None:
        processes.end(psutil.Process(state.pid))
    workspace.server_file.unlink(missing_ok=True)
    return state is not None


def settings_of(workspace: Workspace, state: ServerState) -> ConnectionSettings:
    """Return the settings for a connection to the managed server.

    Raises
    ------
    StoreError
        The file with its password is gone.
    """
    try:
        password = workspace.password_file.read_text().strip()
    except OSError as error:
        raise StoreError(
            f"cannot read the server's password in {workspace.password_file}: {error.strerror}",
            f"remove {workspace.neo4j_home} and ingest again",
        ) from error
    return ConnectionSettings(state.ports.uri, USERNAME, password, state.database)


def _start_on_free_ports(
    workspace: Workspace, database: str, progress: Progress, *, keep: bool, attempts: int = 3
) -> ServerState:
    state = _launch(workspace, _free_ports(), database, keep=keep)
    try:
        _wait_until_ready(workspace, state, progress)
    except StoreError:
        stop(workspace)
        # Another program may take a port between our choice and the server's start.
        if attempts == 1 or _PORT_TAKEN not in _log(workspace.neo4j_home):
            raise
        return _start_on_free_ports(workspace, database, progress, keep=keep, attempts=attempts - 1)
    except BaseException:
        stop(workspace, at_once=True)
        raise
    return state


def _launch(workspace: Workspace, ports: Ports, database: str, *, keep: bool) -> ServerState:
    home = workspace.neo4j_home
    if not keep:
        ports = replace(ports, http=None)  # serving the Browser makes a start longer by a sixth
    (home / "conf" / "neo4j.conf").write_text(configuration(ports, database))
    (home / "logs").mkdir(exist_ok=True)
    brief = not keep and _is_small(home, database)
    with (home / "logs" / "console.log").open("wb") as console:
        process = subprocess.Popen(
            guardian.while_used(workspace.root, java.server_command(home, brief=brief)),
            env=java.environment(home),
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in the terminal is for the command, not for the server
        )
    # For a moment after the fork the command line, by which a server is known, is empty.
    while process.poll() is None and not _is_alive(psutil.Process(process.pid), workspace):
        time.sleep(_POLL_S)
    linger_s = None if keep else workspace.linger_s
    state = ServerState(process.pid, ports.bolt, ports.http, linger_s, database)
    _write_state(workspace, state)
    return state


def _is_small(home: Path, database: str) -> bool:
    files = (home / "data" / "databases" / database).rglob("*")
    return sum(file.stat().st_size for file in files) < _BRIEF_BYTES


def _wait_until_ready(workspace: Workspace, state: ServerState, progress: Progress) -> None:
    # Imported here: the server begins while the driver, which takes half a second, is imported.
    from tracegraph.store.connection import answers, why_closed  # noqa: PLC0415

    limit = time.monotonic() + _START_LIMIT_S
    settings = settings_of(workspace, state)
    while not ((listens := _listens(state.bolt)) and answers(settings)):
        progress("starting Neo4j", 0, 0)
        check_space(workspace.root)  # on a full disk it neither starts nor ends
        if listens and (words := why_closed(settings)):
            raise UnopenableError(
                f"Neo4j cannot open its database: {words}",
                f"see {workspace.neo4j_home / 'logs' / 'debug.log'}, "
                f"or remove {workspace.neo4j_home} and ingest again",
            )
        if running(workspace) is None:
            raise EndedError(
                f"Neo4j ended while starting: {java.cause_in(_log(workspace.neo4j_home))}",
                f"see {workspace.neo4j_home / 'logs'}, or run `tracegraph doctor`",
            )
        if time.monotonic() > limit:
            raise StoreError(
                f"Neo4j did not answer within {_START_LIMIT_S:.0f} s: "
                f"{java.cause_in(_log(workspace.neo4j_home))}",
                f"see {workspace.neo4j_home / 'logs'}",
            )
        time.sleep(_POLL_S)


def end_imports(home: Path) -> None:
    """End every `neo4j-admin` of a home: a killed command left it, because the caller runs none."""
    processes.end_all(lambda command: java.is_admin(command, home))


def end_strays(home: Path) -> None:
    """End servers of a home that no state file knows: asked to end, or left by a command killed early."""
    processes.end_all(lambda command: java.is_server(command, home))


def _is_alive(process: psutil.Process, workspace: Workspace) -> bool:
    return processes.runs(process, lambda command: java.is_server(command, workspace.neo4j_home))


def _unstartable(workspace: Workspace, error: OSError) -> StoreError:
    return StoreError(
        f"cannot start Neo4j in {workspace.neo4j_home}: {error.strerror or error}",
        "check the rights and the free space there",
    )


def _free_ports() -> Ports:
    with closing(socket.socket()) as first, closing(socket.socket()) as second:
        first.bind((HOST, 0))
        second.bind((HOST, 0))
        return Ports(first.getsockname()[1], second.getsockname()[1])


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex((HOST, port)) == 0


def _log(home: Path) -> str:
    """Read what the server wrote since its last start."""
    return (home / "logs" / "console.log").read_text(errors="replace")


def _write_state(workspace: Workspace, state: ServerState) -> None:
    write_private(workspace.server_file, json.dumps(asdict(state)))
