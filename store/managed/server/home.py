"""A server's home before its first start: its configuration, and the password that it takes over."""

import os
import secrets
from hashlib import sha256
from pathlib import Path

from tracegraph.base import file_rights
from tracegraph.store.managed.java.config import USERNAME, Ports, configuration
from tracegraph.store.managed.server.served_database import NAMES
from tracegraph.store.workspace import Workspace

_HASHED_TIMES = 1024
"""How often the password is hashed; the number stands in the file, where Neo4j reads it."""


def prepare(workspace: Workspace, home: Path) -> None:
    """Make a server home whose server takes over the workspace's password."""
    file_rights.make_folder(home)
    (home / "conf").mkdir(exist_ok=True)
    (home / "conf" / "neo4j.conf").write_text(configuration(Ports(0, None), NAMES[0]))
    if not workspace.password_file.exists():
        write_private(workspace.password_file, secrets.token_hex(24))
    _initial_user(home).parent.mkdir(parents=True, exist_ok=True)
    write_private(_initial_user(home), _user(workspace.password_file.read_text().strip()))


def is_prepared(home: Path) -> bool:
    """Tell whether a home has its password, either for its first start or in the database of its users."""
    return _initial_user(home).exists() or (home / "data" / "databases" / "system").is_dir()


def write_private(path: Path, line: str) -> None:
    """Write a file of one line that only its owner may read, completely or not at all."""
    fresh = path.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, file_rights.FILE)
    with open(handle, "w") as file:
        file.write(line + "\n")
    fresh.replace(path)


def _initial_user(home: Path) -> Path:
    """Return the file that `neo4j-admin dbms set-initial-password` writes.

    Writing it here saves a Java process of seconds for this one line.
    """
    return home / "data" / "dbms" / "auth.ini"


def _user(password: str) -> str:
    salt = secrets.token_bytes(32)
    digest = sha256(salt + password.encode()).digest()
    for _ in range(_HASHED_TIMES - 1):
        digest = sha256(digest).digest()
    return f"{USERNAME}:SHA-256,{digest.hex()},{salt.hex()},{_HASHED_TIMES}:"
