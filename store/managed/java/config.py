"""The managed server's neo4j.conf."""

from dataclasses import dataclass

from tracegraph.store.managed.java.java import heap_mib, page_cache_mib

HOST = "127.0.0.1"
USERNAME = "neo4j"
_LOG_FILE_MIB = 32
"""The size of a file of the transaction log; after two of them the server makes a checkpoint."""


@dataclass(frozen=True)
class Ports:
    """The ports of the managed server on the loopback address; if `http` is None it serves no Browser."""

    bolt: int
    http: int | None

    @property
    def uri(self) -> str:
        """Bolt address for a driver."""
        return f"bolt://{HOST}:{self.bolt}"

    @property
    def username(self) -> str:
        """The one user of the managed server."""
        return USERNAME

    @property
    def browser(self) -> str | None:
        """Address of Neo4j Browser."""
        return None if self.http is None else f"http://{HOST}:{self.http}/browser/"


def configuration(ports: Ports, database: str) -> str:
    """Write neo4j.conf: serve `database`, accept connections from this machine only, and make none."""
    settings = {
        "initial.dbms.default_database": database,
        "server.default_listen_address": HOST,
        "server.bolt.listen_address": f"{HOST}:{ports.bolt}",
        "server.bolt.advertised_address": f"{HOST}:{ports.bolt}",
        "server.bolt.tls_level": "DISABLED",
        "server.http.enabled": str(ports.http is not None).lower(),
        "server.http.listen_address": f"{HOST}:{ports.http or 0}",
        "server.http.advertised_address": f"{HOST}:{ports.http or 0}",
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        # A READ session still runs LOAD CSV: these two refuse files and every address.
        "dbms.security.allow_csv_import_from_file_urls": "false",
        "internal.dbms.cypher_ip_blocklist": "0.0.0.0/0,::/0",
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        "db.logs.query.enabled": "OFF",
        # Everything stored can be loaded again from the workspace: no long transaction log is needed.
        "db.tx_log.preallocate": "false",
        "db.tx_log.rotation.retention_policy": "keep_none",
        # The space that a transaction frees in an index, and the log itself, are used again only after a
        # checkpoint: by default every 15 min, in which a hundred runs stored and deleted take as much space
        # as if all were there.
        "db.tx_log.rotation.size": f"{_LOG_FILE_MIB}m",
        "db.checkpoint": "VOLUME",
        "db.checkpoint.interval.volume": f"{2 * _LOG_FILE_MIB}m",
        # A full disk tears the last transaction: it was never reported as stored, and all others are whole.
        "internal.dbms.tx_log.fail_on_corrupted_log_files": "false",
        # A query is planned anew when what is stored has grown tenfold, not fourfold: that takes a report
        # seconds, and its queries find the nodes of a run by indexes, whatever else is stored.
        "dbms.cypher.statistics_divergence_threshold": "0.9",
        # One query that collects the whole graph must not take the server from all others.
        "db.memory.transaction.max": f"{heap_mib() // 2}m",
        "server.memory.pagecache.size": f"{page_cache_mib()}m",
        # Else a stop waits up to 10 s for idle Bolt threads; committed data are safe without.
        "internal.server.bolt.thread_pool_shutdown_wait_time": "0s",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())
