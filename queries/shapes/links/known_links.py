"""Rates of the links between GPUs and between nodes, from their vendors: of one GPU, in one direction."""

from dataclasses import dataclass

from tracegraph.vocabulary.device_peaks import DeviceNames


@dataclass(frozen=True)
class Link:
    """A kind of link.

    Attributes
    ----------
    name
        What it is called, and what a user gives to name it.
    devices
        Regular expression that matches a whole word of the name of the devices which it joins inside a node;
        None if no name of a device tells it: a network, or a slot that is not all that joins them.
    bytes_per_s
        What one device can send over all its links of the kind together, in one direction.
    source
        The document that states it, and its date. Vendors add both directions, which is halved here.
    """

    name: str
    devices: str | None
    bytes_per_s: float
    source: str


def _link(name: str, devices: str | None, gigabytes: float, source: str) -> Link:
    return Link(name, devices, gigabytes * 1e9, source)


_PCI_SIG = "PCI-SIG, PCI Express base specification"
_IBTA = "InfiniBand Trade Association, InfiniBand roadmap, 2023, a port of four lanes"
LINKS = (
    _link("NVLink 1", "P100-SXM2", 80, "NVIDIA P100 data sheet, October 2016: 160 GB/s both ways"),
    _link("NVLink 2", "V100-SXM[23]", 150, "NVIDIA V100 data sheet, January 2020: 300 GB/s both ways"),
    _link("NVLink 3", "A100-SXM4?", 300, "NVIDIA A100 data sheet, June 2021: 600 GB/s both ways"),
    _link(
        "NVLink 4",
        "H100 80GB HBM3|H100.*SXM5?|H200(?! NVL)",
        450,
        "NVIDIA H100 data sheet, 2023: 900 GB/s both ways",
    ),
    _link("NVLink 5", "B200", 900, "NVIDIA Blackwell (HGX B200) data sheet, 2025: 1,800 GB/s both ways"),
    _link(
        "Infinity Fabric of MI300X",
        "MI300X|MI325X",
        448,
        "AMD Instinct MI300X platform data sheet, December 2023: 7 links of 128 GB/s both ways",
    ),
    _link("PCIe 3.0 x16", "T4", 15.754, f"{_PCI_SIG} 3.0, 2010: 8 GT/s a lane, 128b/130b"),
    _link(
        "PCIe 4.0 x16", "L4|L40S?|A10|RTX 4090", 31.508, f"{_PCI_SIG} 4.0, 2017: 16 GT/s a lane, 128b/130b"
    ),
    _link("PCIe 5.0 x16", None, 63.015, f"{_PCI_SIG} 5.0, 2019: 32 GT/s a lane, 128b/130b"),
    _link("EDR", None, 12.5, f"{_IBTA}: 100 Gbit/s"),
    _link("HDR", None, 25, f"{_IBTA}: 200 Gbit/s"),
    _link("NDR", None, 50, f"{_IBTA}: 400 Gbit/s"),
    _link("XDR", None, 100, f"{_IBTA}: 800 Gbit/s"),
)
"""All known links. Cards that a bridge may join have none: their name does not tell whether it is there."""
LINK = {link.name.lower(): link for link in LINKS}
"""Links by name, in lower case."""
_JOINING = DeviceNames((one.devices, one) for one in LINKS if one.devices is not None)


def find_link(device: str | None) -> Link | None:
    """Find what joins devices of this name, as their driver gives it, inside a node; None if nobody tells."""
    return _JOINING.find(device)
