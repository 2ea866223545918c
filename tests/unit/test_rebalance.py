"""What balanced stages of a pipeline gain, where every time is worked out by hand."""

from pathlib import Path

import numpy as np
import pytest
from tiny import Row, call, event, kernel
from tiny_job import write_trace

from tracegraph.base.errors import InputError
from tracegraph.ingest.ranks.job import build_job
from tracegraph.ingest.ranks.rank_part import read_all_parts
from tracegraph.ingest.sources.source import as_source
from tracegraph.ingest.what_if.fixes.fix import Candidate, Scene
from tracegraph.ingest.what_if.fixes.rebalance import FIX
from tracegraph.ingest.what_if.graph.graph import ReplayGraph, graph_of
from tracegraph.ingest.what_if.graph.stages import count_layers, find_pipelines
from tracegraph.workbench.what_if.answer import Question, answer

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
BEGIN = 10.0
SENT = {"group": "0 to 1", "group_ranks": "[0, 1]", "elements": 8, "dtype": "Float"}
# Three micro-batches pass two stages. A call takes 2 µs, a message 10 once both sides have come. Stage 0
# computes each for 100 µs and then sends it: at 104, 208 and 312. Stage 1 computes each for 200: its messages
# come at 114, 328 and 542, and it ends at 116 + 200, 330 + 200 and 544 + 200. With 150 on both, stage 0 sends
# at 154, 308 and 462, and stage 1 ends at 166 + 150, 330 + 150 and 494 + 150: 100 µs earlier.
ARRIVES = (114.0, 328.0, 542.0)


def modules(count: int) -> list[Row]:
    """Frames of a stage with some blocks, each with two modules of its own, before everything else."""
    if not count:
        return []
    each = 9 / count
    frames = [("Stage_0", 0.0, 9.5)]
    for place in range(count):
        start = 0.1 + each * place
        frames.append((f"Block_{place}", start, start + 0.9 * each))
        inner = [start + each * part for part in (0.1, 0.4)]
        frames += [(f"Linear_{2 * place + at}", begin, begin + 0.2 * each) for at, begin in enumerate(inner)]
    return [event(f"nn.Module: {name}", a, b, category="python_function") for name, a, b in frames]


def first_stage(layers: int) -> list[Row]:
    """Computes 100 µs and sends, three times."""
    rows = modules(layers)
    for place, arrives in enumerate(ARRIVES):
        at = BEGIN + 104 * place
        rows += [
            call("cudaLaunchKernel", at, at + 2, 10 + place),
            kernel("gemm", at + 2, at + 102, 10 + place),
            call("cudaStreamSynchronize", at + 2, at + 102, 30 + place),
            call("cudaLaunchKernel", at + 102, at + 104, 20 + place),
            kernel(
                *(SEND_RECV, max(at + 104, BEGIN + (0, *ARRIVES)[place]), BEGIN + arrives, 20 + place),
                **{"stream": 20, "collective": "send", "receiver": 1, **SENT},
            ),
        ]
    return rows


def second_stage(layers: int) -> list[Row]:
    """Receives and computes 200 µs, three times."""
    rows, at = modules(layers), BEGIN
    for place, arrives in enumerate(ARRIVES):
        come = BEGIN + arrives
        rows += [
            call("cudaLaunchKernel", at, at + 2, 20 + place),
            kernel(
                *(SEND_RECV, at + 2, come, 20 + place),
                **{"stream": 20, "collective": "recv", "sender": 0, **SENT},
            ),
            call("cudaStreamSynchronize", at + 2, come, 40 + place),
            call("cudaLaunchKernel", come, come + 2, 10 + place),
            kernel("gemm", come + 2, come + 202, 10 + place),
            call("cudaStreamSynchronize", come + 2, come + 202, 30 + place),
        ]
        at = come + 202
    return rows


def graph(folder: Path, first: int = 0, second: int = 0, ranks: int = 2) -> ReplayGraph:
    stages = [first_stage(first), second_stage(second)][:ranks]
    files = [write_trace(folder / f"rank{at}.json", rows, at) for at, rows in enumerate(stages)]
    return graph_of(build_job([part for file in files for part in read_all_parts(as_source(file))]).model)


def gain_us(of: ReplayGraph, selector: str = "category=kernel") -> float:
    asked = Question(fixes=(("rebalance", selector),), overhead="none")
    return answer(of, "run", asked).prediction.naive.gain_ns / 1000


def found(of: ReplayGraph) -> list[Candidate]:
    path = of.replay.run(of.segments.work, of.counted).on_path
    return list(FIX.find(Scene(of, path)))


def test_an_all_to_all_is_no_message_of_a_pipeline(tmp_path: Path) -> None:
    # NCCL runs it as sends and receives; the annotation around the launch says what was asked for.
    files = []
    for rank, rows in enumerate((first_stage(0), second_stage(0))):
        asked = [
            {**row, "name": "nccl:all_to_all", "category": "user_annotation", "correlation": None}
            for row in rows
            if row["name"] == "cudaLaunchKernel" and row["correlation"] in (20, 21, 22)
        ]
        files.append(write_trace(tmp_path / f"rank{rank}.json", [*asked, *rows], rank))
    parts = [part for file in files for part in read_all_parts(as_source(file))]
    assert find_pipelines(graph_of(build_job(parts).model)) == []


def test_even_work_ends_100_us_earlier_and_a_half_of_it_is_the_least(tmp_path: Path) -> None:
    of = graph(tmp_path)
    assert [stages.tolist() for stages in find_pipelines(of)] == [[0, 1]]
    assert gain_us(of) == 100
    (candidate,) = found(of)
    assert candidate.options == ("--rebalance", "category=kernel")
    assert candidate.evidence == "rank 1 computes 600 µs, 33.3 % more than the mean of 2 stages"
    assert "does not tell its layers" in candidate.assumptions[0]
    assert candidate.least is not None
    assert candidate.least.edit is not None
    assert sorted(set(candidate.least.edit.factor.tolist())) == pytest.approx([0.875, 1.0, 1.25])


def test_layers_move_whole(tmp_path: Path) -> None:
    # Two layers of 50 and four of 50 become three each; modules inside of them are no layers.
    of = graph(tmp_path, 2, 4)
    layers = count_layers(of, np.array([0, 1]))
    assert layers is not None
    assert (layers.name, layers.counts.tolist()) == ("Block", [2, 4])
    assert gain_us(of) == 100
    (candidate,) = found(of)
    assert candidate.least is None
    assert candidate.assumptions == (
        "layers (Block) are all alike and move whole, from 2, 4 on the stages to 3, 3; what else a stage "
        "does stays there",
    )


def test_layers_that_cannot_be_divided_better_stay(tmp_path: Path) -> None:
    of = graph(tmp_path, 1, 2)
    assert gain_us(of) == 0
    assert found(of) == []


def test_what_is_no_layer_stays_on_its_stage(tmp_path: Path) -> None:
    # Three layers a stage: those of stage 1 take 100 µs, the other 100 are a head that stays. Of six layers
    # of 33.3 stage 0 takes four (133.3), and stage 1 keeps two and the head (166.7). Stage 0 sends at 137.3,
    # 274.7 and 412; stage 1 ends at 149.3 + 166.7 = 316, 330 + 166.7 and 510.7 + 166.7 = 677.3.
    of = graph(tmp_path, 3, 3)
    assert gain_us(of) == pytest.approx(66.7, abs=0.1)


def test_without_stages_or_without_work_of_each_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is told to be a stage"):
        gain_us(graph(tmp_path, ranks=1))
    assert found(graph(tmp_path, ranks=1)) == []
    with pytest.raises(InputError, match="some stages have none of this work"):
        gain_us(graph(tmp_path), "category=kernel,rank=1")
