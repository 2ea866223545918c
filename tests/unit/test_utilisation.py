"""Shares of the peak: what a model costs, what counts for a step, and what is said where something lacks."""

import json
from typing import Any

import pandas as pd
import pytest
from module_rows import rows_of

from tracegraph.base.errors import InputError
from tracegraph.queries.catalog import find
from tracegraph.queries.module import in_types
from tracegraph.queries.shapes.peak.job import with_config_read
from tracegraph.queries.shapes.peak.model_flops import read_model
from tracegraph.queries.shapes.peak.utilisation import missing_of, utilisation

A100 = "NVIDIA A100-SXM4-80GB"
MEGATRON = {"model_type": "gpt2", "n_embd": 4096, "n_layer": 40, "n_head": 32, "vocab_size": 51200}
"""The model of a trace with 8,192 tokens of 4 sequences on 8 GPUs."""
MIXTRAL = {
    **{"model_type": "mixtral", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 100, "num_local_experts": 8},
    "num_experts_per_tok": 2,
}
WINDOW = {"run": "r", "start_ns": 0, "end_ns": 1000, "rank": None}
SECOND = 10**9
CALL = {"rank": 0, "device": 0, "step": 0, "name": "aten::mm", "shapes": "[[2]]", "dtype": "float16"}
FORWARD = {**CALL, "backward": False, "numbered": False, "begin_ns": [0], "flops": [100 * 10**9]}
BACKWARD = {**FORWARD, "backward": True, "flops": [200 * 10**9]}
AGAIN = {**FORWARD, "backward": True, "numbered": True}
WORK = {"rank": 0, "step": 0, "device": 0, "computing_ns": 100, "known_ns": 95, "owned_ns": 100}


def row(
    *calls: dict[str, Any],
    steps: tuple[tuple[int, int], ...] = ((0, SECOND),),
    devices: tuple[str, ...] = (A100,),
    findings: tuple[str, ...] = (),
    talks_ns: int = 0,
    work: dict[str, Any] = WORK,
    **job: object,
) -> dict[str, Any]:
    """The last row for these products of step 0, and what is said of the job."""
    listed = [{"number": n, "start_ns": start, "window_end_ns": end} for n, (start, end) in enumerate(steps)]
    files = [{"rank": 0, "devices": json.dumps(devices), "versions": "{}"}]
    found = utilisation(
        {**WINDOW, "end_ns": 10 * SECOND, **job},
        rows_of("known_work", {**work, "communication_ns": talks_ns}),
        rows_of("product_calls", *calls),
        rows_of("steps", *listed),
        rows_of("phases"),
        rows_of("traces", *files),
        pd.DataFrame({"integrity": [json.dumps([{"code": code} for code in findings])]}),
    )
    return in_types(found, find("utilisation").columns).to_dict("records")[-1]


def test_layer_by_layer_a_model_costs_what_the_shapes_of_its_run_say() -> None:
    model = read_model(json.dumps(MEGATRON))
    assert 8192 * model.token_flops(2048) // 8 == 18_296_560_680_960
    assert model.token_flops(2048) == 40 * (24 * 4096**2 + 4 * 2048 * 4096) + 2 * 4096 * 51200


def test_of_experts_those_count_that_a_token_uses_and_the_gate_is_a_matrix() -> None:
    projections, experts, router = 64 * 16 * (2 * 4 + 2 * 2), 2 * 3 * 64 * 96, 64 * 8
    expected = 2 * 2 * (projections + experts + router) + 2 * 64 * 100
    assert read_model(json.dumps(MIXTRAL)).token_flops(None) == expected


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[]", "type None are not known"),
        ("{", "no JSON"),
        (json.dumps({**MIXTRAL, "model_type": "mine"}), "type 'mine' are not known"),
        (json.dumps({**MIXTRAL, "hidden_size": None}), "does not state hidden_size"),
        (json.dumps({**MIXTRAL, "hidden_size": -1}), "a size of -1"),
    ],
)
def test_a_config_that_does_not_tell_the_layers_is_refused(config: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_model(config)


def test_a_config_is_its_text_so_that_a_changed_file_is_asked_again(tmp_path: Any) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"a": 1}')
    assert with_config_read({"model": str(path), "peak": None})["model"] == '{"a": 1}'
    with pytest.raises(InputError, match="cannot be read"):
        with_config_read({"model": str(tmp_path), "peak": None})
    with pytest.raises(InputError, match="peak=0 is not allowed"):
        with_config_read({"peak": 0})


def test_full_recomputation_is_hfu_by_mfu_of_four_thirds() -> None:
    found = row(FORWARD, BACKWARD, AGAIN)
    assert (found["counted_flops"], found["recomputed_flops"], found["model_flops"]) == (4e11, 1e11, 3e11)
    assert found["hfu"] / found["mfu"] == pytest.approx(4 / 3)
    assert found["mfu"] == pytest.approx(3e11 / 312e12)
    assert (found["dtype"], found["device_name"], found["source"]) == ("float16", A100, "shapes")


def test_a_gradient_of_a_gradient_did_not_run_before() -> None:
    assert row(FORWARD, {**AGAIN, "shapes": "[[3]]"})["recomputed_flops"] == 0


def test_parameters_cost_six_flops_a_token_in_training_and_two_without_backward() -> None:
    said = {"params": 1000, "tokens": 800, "gpus": 8}
    assert row(FORWARD, BACKWARD, **said)["model_flops"] == 6 * 1000 * 100
    found = row(FORWARD, **said)
    assert found["model_flops"] == 2 * 1000 * 100
    assert "a third of a training step" in found["source"]
    assert row(BACKWARD, **said, model=json.dumps(MEGATRON), batch=4)["model_flops"] == (
        100 * (6 * 1000 + 12 * 40 * 4096 * 200)
    )


def test_a_step_counts_from_the_end_of_the_one_before() -> None:
    steps = ((0, 3 * SECOND), (SECOND, 5 * SECOND))
    assert row(steps=steps)["step_ns"] == 2 * SECOND
    assert row(steps=(*steps, (2 * SECOND, 4 * SECOND)))["step_ns"] == 2 * SECOND


@pytest.mark.parametrize(
    ("given", "source", "sentence"),
    [
        ({}, "unknown", "give --params and --tokens."),
        ({"params": 9}, "unknown", "give --tokens."),
        ({"params": 9, "tokens": 9, "findings": ("ranks_missing",)}, "unknown", "give --gpus."),
        ({"params": 9, "tokens": 9, "talks_ns": 5}, "unknown", "give --gpus."),
        ({"params": 9, "tokens": 9}, "parameters", "the peak is not known: give --peak."),
        ({"params": 9, "tokens": 9}, "parameters", "give --model and --batch, too."),
        ({"model": json.dumps(MIXTRAL), "tokens": 9}, "config", "give --batch, too"),
        ({"params": 9, "tokens": 9, "work": {**WORK, "owned_ns": 0}}, "parameters", "holds no operators"),
    ],
)
def test_what_lacks_is_said_in_a_sentence(given: dict[str, Any], source: str, sentence: str) -> None:
    found = row(**given)
    assert found["source"].partition(":")[0] == source
    assert any(sentence in one for one in missing_of(found["source"])), found["source"]
    assert pd.isna(found["mfu"])


def test_of_an_unknown_device_no_share_is_guessed() -> None:
    found = row(FORWARD, devices=("Some GPU",))
    assert pd.isna(found["mfu"])
    assert missing_of(found["source"]) == [
        "The peak of Some GPU for float16 is not known here: give --peak, in TFLOP/s."
    ]
    assert row(FORWARD, devices=("Some GPU",), peak=200.0)["mfu"] == pytest.approx(1e11 / 200e12)
    assert row(FORWARD, devices=(), device="H100 PCIe")["mfu"] == pytest.approx(1e11 / 756e12)
    assert "give --device or --peak" in row(FORWARD, devices=())["source"]


def test_where_much_is_unknown_the_share_is_a_least_value() -> None:
    found = row(FORWARD, work={**WORK, "known_ns": 80})
    assert found["known_share"] == pytest.approx(0.8)
    assert "at least this large" in found["source"]
