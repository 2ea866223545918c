"""What was said of a job at ingest, for its files that are judged without a database."""

from tracegraph.ingest.health.job_health import JobHealth
from tracegraph.queries.shapes.peak.job import NOTHING_SAID, Job, read_job
from tracegraph.store.workspace import Workspace


def stored_job(workspace: Workspace, files: JobHealth) -> Job:
    """Return what was said last at ingest of a run of exactly these files; nothing if there is none."""
    here = {one.file.sha256 for one in files.ranks.values()}
    for manifest in reversed(workspace.manifests()):
        sources, said = manifest.get("sources"), manifest.get("job")
        if isinstance(said, str) and isinstance(sources, list) and here == {one["sha256"] for one in sources}:
            return read_job(said)
    return NOTHING_SAID
