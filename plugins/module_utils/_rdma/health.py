# SPDX-License-Identifier: GPL-3.0-or-later
"""What surrounds the RDMA devices: the IOMMU, the PCI bridges above them, and the programs that look at them.

Files: iommu_group/type (Documentation/ABI/testing/sysfs-kernel-iommu_groups), and the configuration space of a bridge,
of which only root may read more than the first 64 bytes.
"""

from __future__ import annotations

from .._host import pci, sysfs
from .._host.host import Host
from .._records.health import RdmaHealth
from .devices import read_addresses

TOOLS = (
    *("ibstat", "ibv_devinfo", "rdma", "show_gids", "ibdev2netdev", "perfquery", "mlxlink", "mst", "niccli"),
    *("ibv_rc_pingpong", "ib_write_bw", "ib_read_lat", "ethtool", "lspci"),
)
# include/uapi/linux/pci_regs.h
EXTENDED, CONFIG_BYTES = 0x100, 4096
ACS, ACS_CONTROL, ACS_REDIRECT = 0x0D, 6, 0x04 | 0x08  # requests, completions
UNPRIVILEGED_BYTES = 64


def parse_acs_redirects(config: bytes) -> bool | None:
    """Return whether a bridge redirects upstream, by its configuration space; None where that was not read whole.

    A bridge without Access Control Services never does.
    """
    if len(config) <= UNPRIVILEGED_BYTES:
        return None
    place, visited = EXTENDED, set()
    while EXTENDED <= place <= len(config) - 8 and place not in visited:
        visited.add(place)
        header = int.from_bytes(config[place : place + 4], "little")
        if header & 0xFFFF == ACS:
            control = config[place + ACS_CONTROL : place + ACS_CONTROL + 2]
            return bool(int.from_bytes(control, "little") & ACS_REDIRECT)
        place = header >> 20 & 0xFFC
    return False


def read_rdma_health(host: Host) -> RdmaHealth:
    """Return what surrounds the devices of this node."""
    addresses = sorted({address for address in read_addresses(host).values() if address})
    groups = {address: sysfs.text(host, f"{pci.DEVICES}/{address}/iommu_group/type") for address in addresses}
    paths = [pci.pci_path(host, address) for address in addresses]
    bridges = dict.fromkeys(bridge for path in paths if path for bridge in pci.bridges_above(path))
    programs = {name: host.which(name) for name in TOOLS}
    return RdmaHealth(
        iommu={address: kind for address, kind in groups.items() if kind},
        acs_redirects={bridge: _acs_redirects(host, bridge) for bridge in bridges},
        tools={name: path for name, path in programs.items() if path},
    )


def _acs_redirects(host: Host, bridge: str) -> bool | None:
    config = host.read_bytes(f"{pci.DEVICES}/{bridge}/config", CONFIG_BYTES)
    return None if config is None else parse_acs_redirects(config)
