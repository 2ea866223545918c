"""Peak rates of devices from their vendors' data sheets: dense rates, without sparsity."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

_Known = TypeVar("_Known")

TF32 = "tf32"
"""Matrix products of float32 on tensor cores; a trace does not say whether a program allows them."""
FASTEST_COPY = 1e15
"""A rate in B/s that no copy reaches: a rate or a size in a file that implies more is damaged."""
_TYPES = "float64 float32 tf32 float16 bfloat16 float8"


@dataclass(frozen=True)
class Peaks:
    """Peaks of a kind of device, recognised by `pattern` in its name.

    Attributes
    ----------
    pattern
        Regular expression that matches a whole word of the name.
    flop_per_s
        By element type, the rate of the fastest unit that computes in it (tensor or matrix cores if there are
        any); a type is absent if the source states no peak for it.
    bytes_per_s
        Bandwidth of the memory; None if devices of the same name differ.
    source
        The document that states the peaks.
    """

    pattern: str
    flop_per_s: Mapping[str, float]
    bytes_per_s: float | None
    source: str


def _tera(pattern: str, rates: str, gigabytes: float | None, source: str) -> Peaks:
    """Make the peaks of a device from figures as data sheets state them.

    `rates` has one number for each of `_TYPES`, in TFLOP/s, or `-` if the source states none; `gigabytes` is
    in GB/s.
    """
    values = zip(_TYPES.split(), rates.split(), strict=True)
    known = {name: float(value) * 1e12 for name, value in values if value != "-"}
    return Peaks(pattern, known, None if gigabytes is None else gigabytes * 1e9, source)


def has_tensor_cores(peaks: Peaks) -> bool:
    """Tell whether a device has tensor or matrix cores.

    Its rate in a shorter type is more than twice that of float32, which plain units of twice the width reach,
    too (P100).
    """
    plain, short = peaks.flop_per_s.get("float32", 0.0), ("float16", "bfloat16", TF32)
    return max((peaks.flop_per_s.get(one, 0.0) for one in short), default=0.0) > 2.5 * plain > 0


_V100 = "NVIDIA V100 data sheet, January 2020"
_A100 = "NVIDIA A100 data sheet, June 2021"
_A100_RATES = "19.5 19.5 156 312 312 -"
_H100 = "NVIDIA H100 data sheet, 2023"
_H100_RATES = "67 67 494.7 989.4 989.4 1978.9"
_MI200 = "AMD Instinct MI200 series data sheet, 2022; a device is one of its two dies"
_MI300X_RATES = "163.4 163.4 653.7 1307.4 1307.4 2614.9"
PEAKS = (
    _tera("P100-SXM2", "5.3 10.6 - 21.2 - -", 732, "NVIDIA P100 data sheet, October 2016"),
    _tera("P100-PCIE", "4.7 9.3 - 18.7 - -", 732, "NVIDIA P100 data sheet, October 2016"),
    _tera("V100S", "8.2 16.4 - 130 - -", 1134, _V100),
    _tera("V100-PCIE", "7 14 - 112 - -", 900, _V100),
    _tera("V100-(SXM2|DGXS)", "7.8 15.7 - 125 - -", 900, _V100),
    _tera("A100.*PCIE?.*80GB|A100 80GB PCIe", _A100_RATES, 1935, _A100),
    _tera("A100-(SXM4|SXM)-80GB", _A100_RATES, 2039, _A100),
    _tera("A100-(SXM4|SXM|PCIE)-40GB", _A100_RATES, 1555, _A100),
    # Boards of one operator: the totalGlobalMem of their traces shows which has 40 GB and which 80 GB.
    _tera("PG509-200", _A100_RATES, 1555, f"{_A100}; 40 GB by totalGlobalMem of traces"),
    _tera("PG509-210", _A100_RATES, 2039, f"{_A100}; 80 GB by totalGlobalMem of traces"),
    _tera("A100", _A100_RATES, None, f"{_A100}; the bandwidth depends on the memory, which the name lacks"),
    _tera("A30", "10.3 10.3 82 165 165 -", 933, "NVIDIA A30 data sheet, March 2022"),
    _tera("A40", "- 37.4 74.8 149.7 149.7 -", 696, "NVIDIA A40 data sheet, October 2021"),
    _tera("A10", "- 31.2 62.5 125 125 -", 600, "NVIDIA A10 data sheet, March 2022"),
    _tera("RTX A6000", "- 38.7 77.4 154.8 154.8 -", 768, "NVIDIA RTX A6000 data sheet, January 2021"),
    _tera("H100 NVL", "60 60 417.5 835.5 835.5 1671", 3900, _H100),
    _tera("H100.*PCIe", "51 51 378 756 756 1513", 2000, _H100),
    _tera("H100.*(HBM3|SXM)", _H100_RATES, 3350, _H100),
    _tera("H200", _H100_RATES, 4800, "NVIDIA H200 data sheet, November 2024"),
    _tera("GH200 480GB", _H100_RATES, 4000, "NVIDIA GH200 data sheet, August 2023"),
    _tera("B200", "37 75 1125 2250 2250 4500", 8000, "NVIDIA Blackwell (HGX B200) data sheet, 2025"),
    _tera("T4", "- 8.1 - 65 - -", 320, "NVIDIA T4 data sheet, March 2019"),
    _tera("L40S", "- 91.6 183 362 362 733", 864, "NVIDIA L40S data sheet, October 2023"),
    _tera("L40", "- 90.5 90.5 181 181 362", 864, "NVIDIA L40 data sheet, October 2022"),
    _tera("L4", "- 30.3 60 121 121 242.5", 300, "NVIDIA L4 data sheet, March 2023"),
    _tera("RTX 2080 Ti", "- 13.4 - 107.6 - -", 616, "NVIDIA Turing white paper, 2018, reference board"),
    _tera("RTX 3090", "- 35.6 35.6 142 71 -", 936, "NVIDIA GA102 white paper, 2020"),
    _tera("RTX 4090", "- 82.6 82.6 330.3 165.2 660.6", 1008, "NVIDIA Ada white paper, 2022"),
    _tera("MI100", "11.5 46.1 - 184.6 92.3 -", 1229, "AMD Instinct MI100 data sheet, November 2020"),
    _tera("MI210", "45.3 45.3 - 181 181 -", 1638, "AMD Instinct MI210 data sheet, 2022"),
    _tera("MI250X", "47.9 47.9 - 191.5 191.5 -", 1638, _MI200),
    _tera("MI250", "45.3 45.3 - 181 181 -", 1638, _MI200),
    _tera("MI300A", "122.6 122.6 490.3 980.6 980.6 1961.2", 5300, "AMD MI300A data sheet, December 2023"),
    _tera("MI300X", _MI300X_RATES, 5300, "AMD MI300X data sheet, December 2023"),
    _tera("MI325X", _MI300X_RATES, 6000, "AMD MI325X data sheet, October 2024"),
)
"""All known devices; the first whose pattern occurs in the name as a whole word counts."""


class DeviceNames(Generic[_Known]):
    """What is known of devices by patterns of their names; the first that occurs as a whole word counts."""

    def __init__(self, known: Iterable[tuple[str, _Known]]) -> None:
        self._known = [
            (re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})(?![A-Za-z0-9])"), one) for pattern, one in known
        ]

    def find(self, device: str | None) -> _Known | None:
        """Find what is known of a device by the name that its driver gives it; None if nothing is."""
        return next((one for known, one in self._known if known.search(device or "")), None)


_PEAKS = DeviceNames((one.pattern, one) for one in PEAKS)


@lru_cache(maxsize=256)
def find_peaks(device: str | None) -> Peaks | None:
    """Find the peaks of a device by the name that its driver gives it; None if they are not known."""
    return _PEAKS.find(device)


PUBLISHED_MFU = "PaLM 540B 46 % (Chowdhery et al., 2022), Llama 3 405B 38 to 43 % (Llama team, 2024)"
"""Shares of the peak that training runs reached, with the publications that state them."""
