"""Peaks of devices: by the names that drivers give them."""

import pytest

from tracegraph.vocabulary.device_peaks import PEAKS, find_peaks

NAMES = {
    "NVIDIA A100-SXM4-80GB": (312, 2039),
    "NVIDIA A100-SXM4-40GB": (312, 1555),
    "NVIDIA A100 80GB PCIe": (312, 1935),
    "NVIDIA A100-PCIE-40GB": (312, 1555),
    "NVIDIA A100-PG509-200": (312, 1555),
    "NVIDIA PG509-210": (312, 2039),
    "NVIDIA H100 80GB HBM3": (989.4, 3350),
    "NVIDIA H100 PCIe": (756, 2000),
    "NVIDIA H100 NVL": (835.5, 3900),
    "NVIDIA H200": (989.4, 4800),
    "NVIDIA B200": (2250, 8000),
    "Tesla V100-SXM2-32GB": (125, 900),
    "Tesla V100-DGXS-32GB": (125, 900),
    "NVIDIA GeForce RTX 2080 Ti": (107.6, 616),
    "Tesla T4": (65, 320),
    "NVIDIA L4": (121, 300),
    "NVIDIA L40S": (362, 864),
    "NVIDIA A10": (125, 600),
    "AMD Instinct MI300X": (1307.4, 5300),
    "AMD Instinct MI300X VF": (1307.4, 5300),
    "AMD Instinct MI250X": (191.5, 1638),
}


@pytest.mark.parametrize("name", NAMES)
def test_known_names(name: str) -> None:
    peaks = find_peaks(name)
    assert peaks is not None
    assert peaks.bytes_per_s is not None
    assert (peaks.flop_per_s["float16"] / 1e12, peaks.bytes_per_s / 1e9) == pytest.approx(NAMES[name])


@pytest.mark.parametrize(
    "name", ["", None, "AMD Radeon Graphics", "NVIDIA A10G", "NVIDIA A1000", "NVIDIA T400"]
)
def test_other_names_are_unknown(name: str | None) -> None:
    assert find_peaks(name) is None


def test_a_name_without_its_memory_has_no_bandwidth() -> None:
    peaks = find_peaks("NVIDIA A100")
    assert peaks is not None
    assert peaks.bytes_per_s is None


@pytest.mark.parametrize("peaks", PEAKS, ids=lambda one: one.pattern)
def test_narrower_types_are_not_slower(peaks: object) -> None:
    rates = getattr(peaks, "flop_per_s", {})
    known = [rates[name] for name in ("float32", "tf32", "float16", "float8") if name in rates]
    assert known == sorted(known)
