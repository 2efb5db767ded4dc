"""Which addresses of the network may be reached. Standard library only: the sandbox asks too."""

import ipaddress
from collections.abc import Callable

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Judge = Callable[[Address], bool]
"""Whether an address may be reached."""

_METADATA = {ipaddress.ip_address(each) for each in ("fd00:ec2::254", "100.100.100.200", "168.63.129.16")}
"""Where clouds keep what belongs to the machine, besides the link-local addresses."""
_CARRIERS = [ipaddress.ip_network(each) for each in ("64:ff9b::/96", "2002::/16", "2001::/32")]
"""IPv6 that stands for an IPv4 address, and so for any."""


def is_anywhere(address: Address) -> bool:
    return True


def is_public(address: Address) -> bool:
    """Anywhere in the world, but not inside: no private network, nothing of this machine or its neighbours."""
    plain = unwrapped(address)
    return plain.is_global and not plain.is_multicast and is_no_metadata(plain)


def is_no_metadata(address: Address) -> bool:
    """Anywhere but where machines keep what only they may know."""
    plain = unwrapped(address)
    is_carrier = any(plain in network for network in _CARRIERS)
    return not plain.is_link_local and not is_carrier and plain not in _METADATA


def unwrapped(address: Address) -> Address:
    """The IPv4 address that an IPv6 one merely spells."""
    return (address.ipv4_mapped or address) if isinstance(address, ipaddress.IPv6Address) else address
