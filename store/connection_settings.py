"""Where the database is: a module without the driver, for commands that never connect."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class ConnectionSettings:
    """Where the database is.

    If `uri` is None, it is the workspace's managed server; if `database` is None, the server's default.
    """

    uri: str | None = None
    username: str = "neo4j"
    password: str = field(default="", repr=False)
    database: str | None = None
