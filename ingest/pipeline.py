"""From trace files to the tables of a run: the one way in."""

import hashlib
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

import pyarrow as pa

from tracegraph.base.errors import InputError
from tracegraph.base.malloc_settings import give_back_memory, reuse_dropped_columns
from tracegraph.base.parallel import Later
from tracegraph.base.progress import Progress
from tracegraph.ingest.causal.events.step_marks import refuse_unmarked
from tracegraph.ingest.causal.graph.allocations import Allocations, find_allocations
from tracegraph.ingest.causal.graph.model import Model
from tracegraph.ingest.causal.graph.other_assumptions import find_alternatives
from tracegraph.ingest.causal.rules import EVIDENCE
from tracegraph.ingest.companion_runs import attach_files, now
from tracegraph.ingest.detail import PATH
from tracegraph.ingest.integrity_findings import Integrity
from tracegraph.ingest.measures.measures import Measures, measure
from tracegraph.ingest.operations.stragglers import find_stragglers
from tracegraph.ingest.options import DEFAULT_OPTIONS, IngestOptions
from tracegraph.ingest.ranks.agreement import agree
from tracegraph.ingest.ranks.communication import with_communication
from tracegraph.ingest.ranks.dask_cluster import read_on
from tracegraph.ingest.ranks.diagnosis import diagnose_job, findings_of_files
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.members import find_members
from tracegraph.ingest.ranks.rank_part import Part, build_unchecked, checked, understand
from tracegraph.ingest.ranks.reading import read_here, read_parts
from tracegraph.ingest.ranks.short.in_full import read_in_short
from tracegraph.ingest.ranks.step_numbers import number_alike
from tracegraph.ingest.readers.registry import trace_stem
from tracegraph.ingest.sources.reading import read_ranks
from tracegraph.ingest.sources.source import AnySource, Source, as_source
from tracegraph.ingest.tables.gpu_work import with_kernel_types
from tracegraph.ingest.tables.graph import RunFacts, add_run, build_tables
from tracegraph.ingest.trace import FileFacts, file_facts
from tracegraph.ingest.what_if.fixes.fix_rows import find_fixes
from tracegraph.ingest.what_if.graph.facts import FACT_COLUMNS, state_facts
from tracegraph.ingest.what_if.predictions.potential import find_potential
from tracegraph.ingest.what_if.predictions.predict import predictor_of
from tracegraph.ingest.what_if.predictions.what_next import find_what_next
from tracegraph.ingest.what_if.resource_bounds import find_bounds
from tracegraph.store.schema.schema import SCHEMA_VERSION
from tracegraph.store.tables import GraphTables

Result = TypeVar("Result")
_READING, _BUILDING = "reading the trace", "building the causal graph"
_MARKED = 20
"""How many letters of a marker of steps a name holds."""
_STAGES = (_READING, _BUILDING, "writing tables")


class _Stages:
    """Runs the stages one after the other, reports each and keeps its time in seconds."""

    def __init__(self, names: Sequence[str], progress: Progress) -> None:
        self.names, self.progress = list(names), progress
        self.timings: dict[str, float] = {}

    def run(self, name: str, work: Callable[[], Result]) -> Result:
        self.progress(name, self.names.index(name), len(self.names))
        begun = time.perf_counter()
        result = work()
        self.timings[name] = round(time.perf_counter() - begun, 3)
        self.progress(name, self.names.index(name) + 1, len(self.names))
        return result


def run_name(
    paths: Sequence[Path], sha256: str, cross_thread: str = EVIDENCE, step_marker: str | None = None
) -> str:
    """Give the default name: the file's without suffix, 8 hex digits of its SHA-256, and a policy of its own.

    With a marker of steps its letters and 4 hex digits of its SHA-256.

    Of several files what their names have in common, without the word before the rank's number; where that is
    nothing, the folder's.
    """
    stems = [trace_stem(path.name) for path in paths]
    alike = os.path.commonprefix(stems)  # noqa: RUF071  (letters are meant)
    if len(stems) > 1:
        alike = re.sub(r"[\W_]*(?:rank)?[\W_]*$", "", alike) or paths[0].parent.name or "job"
    name = f"{alike}-{sha256[:8]}" + ("" if cross_thread == EVIDENCE else f"-{cross_thread}")
    if step_marker is None:
        return name
    marked = re.sub(r"\W+", "-", step_marker, flags=re.ASCII).strip("-")[:_MARKED]
    own = hashlib.sha256(step_marker.encode("utf-8", "surrogatepass")).hexdigest()[:4]
    return "-".join(part for part in (name, marked, own) if part)


def _what_if(found: "_Read") -> Mapping[str, str]:
    """Return what bounds a run, what its largest names and waits are worth, and what fixes gain."""
    model, devices = found.model, [(file.rank, file.devices) for file in found.files]
    facts = cache(lambda: state_facts(found.stated, found.measures.operator, devices))
    predictor = predictor_of(model, facts)
    told = {"alternatives": json.dumps(find_alternatives(model))}
    # The work of ranks in short stays as it is: what the others gain by working less is not what a job gains.
    is_whole = not model.lanes.in_short.any()
    told["what_next"] = json.dumps(find_what_next(model, predictor) if is_whole else [])
    give_back_memory()  # each of these leaves holes that the next one, with other columns, does not fill
    told["potential"] = json.dumps(find_potential(model, predictor) if is_whole else [])
    if (stragglers := find_stragglers(found.operations.to_pandas())) is not None:
        told["stragglers"] = json.dumps(stragglers)
    if not predictor.graph.counted.any():
        return {**told, "fixes": "[]"}
    give_back_memory()
    told["fixes"] = json.dumps(find_fixes(predictor))
    return {**told, "bounds": json.dumps(find_bounds(predictor))} if is_whole else told


def _what_if_later(held: list["_Read"]) -> Later[Mapping[str, str]]:
    """Do `_what_if` of what `held` holds, which then holds nothing: its memory is given back at the end."""

    def told() -> Mapping[str, str]:
        try:
            return _what_if(held.pop())
        finally:
            give_back_memory()

    return Later(told)


def ingest_run(
    traces: Sequence[AnySource],
    name: str | None,
    progress: Progress,
    options: IngestOptions = DEFAULT_OPTIONS,
    folder: Path | None = None,
) -> tuple[GraphTables, dict[str, object]]:
    """Read the traces of one job and build its graph.

    The tables go into `folder` where one is given, else they stay in memory. What the Run node says of other
    assumptions comes later (`GraphTables.completed`): it takes long, and so does an import.
    Returns the tables and a manifest that JSON can hold: run, created, sources (path, sha256, rank),
    integrity, timings_s, tool_version, schema_version, step_marker, job. Raises `InputError` for a trace that
    cannot be used, for files that are not the ranks of one job, and for a marker of no annotation.
    """
    reuse_dropped_columns()
    stages = _Stages(_STAGES, progress)
    found = _Reading(stages, options).read([as_source(trace).located for trace in traces])
    found = replace(found, stated=with_kernel_types(found.stated, options.spellings))
    paths = [Path(file.path) for file in found.files]
    run = name or run_name(paths, found.sha256, options.policy, options.step_marker)
    graph = stages.run(
        "writing tables",
        lambda: build_tables(
            found.files, found.stated, found.allocations, found.model, run, folder, found.measures
        ),
    )
    facts = RunFacts(
        created=now(),
        tool_version=version("tracegraph"),
        integrity=found.integrity,
        step_marker=options.step_marker,
        job=options.job,
    )
    add_run(graph, found.model, facts)
    late = _what_if_later([replace(found, stated=found.stated.select(FACT_COLUMNS))])
    manifest: dict[str, object] = {
        "run": run,
        "created": facts.created,
        "sources": [file.as_source() for file in found.files],
        "integrity": facts.integrity,
        "timings_s": stages.timings,
        "tool_version": facts.tool_version,
        "schema_version": SCHEMA_VERSION,
        "step_marker": options.step_marker,
        "job": options.job,
    }
    if any(file.in_short for file in found.files):
        manifest["in_full"] = [file.rank for file in found.files if not file.in_short]
        manifest["kernel_types"] = [asdict(spelling) for spelling in options.spellings]
    if options.companions:
        graph, manifest, _ = attach_files(graph, manifest, options.companions, options.limits)
    return replace(graph, late=late), manifest


@dataclass(frozen=True)
class _Read:
    """The model of a run, its files by rank, what they state of its events and memory, and what was odd.

    `operations`: those of a log, in OPERATION_SCHEMA.
    """

    model: Model
    files: list[FileFacts]
    stated: pa.Table
    allocations: Allocations
    measures: Measures
    integrity: list[dict[str, object]]
    operations: pa.Table

    @property
    def sha256(self) -> str:
        """Of one file its own, of several that of theirs in order."""
        own = sorted(file.sha256 for file in self.files)
        return own[0] if len(own) == 1 else hashlib.sha256("".join(own).encode()).hexdigest()


class _Reading:
    """Reads the sources of one job and builds its model, with these options and in these stages."""

    def __init__(self, stages: _Stages, options: IngestOptions) -> None:
        self.stages, self.options = stages, options

    def read(self, sources: Sequence[Source]) -> _Read:
        if len(sources) == 1:
            if self.options.in_full:
                raise InputError("a run of one file has no rank in short", "leave the ranks out")
            return self._one(sources[0])
        scheduler = self.options.scheduler
        read_all = read_here if scheduler is None else read_on(scheduler)
        read = partial(read_parts, options=self.options, progress=self.stages.progress, read_all=read_all)
        if self.options.detail == PATH:
            return self._joined(self.stages.run(_READING, lambda: read_in_short(sources, read, self.options)))
        return self._joined(self.stages.run(_READING, lambda: read(sources)))

    def _one(self, source: Source) -> _Read:
        integrity = Integrity(source.name, self.options.limits)
        ranks = self.stages.run(_READING, lambda: read_ranks(source, integrity))
        if len(ranks) > 1:
            return self._joined([understand(trace, own, self.options) for trace, own in ranks])
        trace = ranks[0][0]
        model = self.stages.run(_BUILDING, lambda: build_unchecked(trace, integrity, self.options))
        give_back_memory()  # holes that what follows, with other columns, does not fill
        files = [file_facts(trace, model.clock_offset_ns, model.clock_drift_ppb)]
        with checked(model, integrity):
            stated, measures = measure(trace, model, integrity)
            stated = with_communication(stated, find_members(model, trace.events))
            allocations = find_allocations(trace, model)
        return _Read(model, files, stated, allocations, measures, integrity.rows(), trace.operations)

    def _joined(self, parts: Sequence[Part]) -> _Read:
        marker = self.options.step_marker
        ranks = agree(parts)
        refuse_unmarked([part.scene.events for part in ranks], marker)
        ranks = ranks if marker is None else number_alike(ranks)
        job = self.stages.run(_BUILDING, lambda: build_job(ranks, self.options.policy))
        findings = [*map(asdict, diagnose_job(job)), *findings_of_files(ranks)]
        operations = pa.concat_tables([part.operations for part in ranks]).unify_dictionaries()
        return _Read(job.model, job.files, job.stated, job.allocations, job.measures, findings, operations)
