# SPDX-License-Identifier: GPL-3.0-or-later
"""Replace what identifies a machine: the same value by the same other value, so that what belongs together still does.

Kept are the vendors' parts of MACs and GUIDs, zero values, loopback, link-local and the prefixes of private networks.
Two addresses share as many leading bits as before, so that they are in one subnet or not as before.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from collections import Counter

# Prefixes that say nothing of whose they are; further bits are replaced one by one.
KEPT_4 = [
    ipaddress.IPv4Network(text)
    for text in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
]
# First octets of ordinary addresses, for those that are not private.
ORDINARY = [octet for octet in range(1, 224) if octet not in (10, 100, 127, 169, 172, 192, 198, 203)]
HEX = "[0-9A-Fa-f]"
_TOKEN = re.compile(
    "|".join(
        f"(?<![0-9A-Za-z:.]){pattern}(?![0-9A-Za-z:])"
        for pattern in (
            f"(?P<ipoib>(?:{HEX}{{2}}:){{19}}{HEX}{{2}})",
            f"(?P<gid>(?:{HEX}{{4}}:){{7}}{HEX}{{4}})",
            f"(?P<guid>(?:{HEX}{{4}}:){{3}}{HEX}{{4}})",
            f"(?P<mac>(?:{HEX}{{2}}:){{5}}{HEX}{{2}})",
            f"(?P<hex64>0[xX]{HEX}{{16}})",
            f"(?P<ipv6>{HEX}{{1,4}}(?::{HEX}{{0,4}}){{2,7}}(?:/[0-9]{{1,3}})?)",
            r"(?P<ipv4>(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?:/[0-9]{1,2})?)",
        )
    )
    + f"|(?P<uuid>{HEX}{{8}}(?:[-_]{HEX}{{4}}){{3}}[-_]{HEX}{{12}})"
    + f"|(?<![0-9A-Za-z])(?P<long>{HEX}{{64}}|{HEX}{{32}})(?![0-9A-Za-z])"
    + f"|(?<=enx)(?P<enx>{HEX}{{12}})(?![0-9A-Za-z])"
    + f"|(?<=GPU-)(?P<gpu>{HEX}{{16}})(?![0-9A-Za-z])"
)
_SERIAL = re.compile(r"(?i)(serial(?:[ _]?(?:number|no))?\"?\s*[:=>]\s*\"?)(?!0+\b)([0-9A-Za-z][0-9A-Za-z-]{5,})")
_HOME = re.compile(r"(?<=/home/)([^/\s\"':]+)")


class Replacements:
    """The replacements of one recording; key makes them other ones than those of the next."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._seen: dict[tuple[str, object], int] = {}
        self._count: Counter[str] = Counter()
        self.addresses: set[str] = set()
        self.words: dict[str, str] = {}

    def text(self, text: str) -> str:
        """Replace wherever it stands in a text."""
        text = _SERIAL.sub(lambda match: match[1] + self._digits("serial", match[2]), text)
        text = _HOME.sub(lambda match: f"user{self._number('user', match[1])}", text)
        text = _TOKEN.sub(self._token, text)
        if self.words:
            known = "|".join(map(re.escape, sorted(self.words, key=len, reverse=True)))
            text = re.sub(f"(?<![0-9A-Za-z_])(?:{known})(?![0-9A-Za-z_])", lambda match: self.words[match[0]], text)
        return text

    def word(self, word: str, kind: str) -> None:
        """Replace a name wherever it stands alone, unless it is a word of the language of computers."""
        if (
            len(word) > 3
            and not word.isdigit()
            and word not in ("default", "localhost", "node", "host", "cuda", "nvidia")
        ):
            self.words.setdefault(word, self.name(word, kind))

    def name(self, word: str, kind: str) -> str:
        """Replace a name."""
        return f"{kind}{self._number(kind, word)}" if word else word

    def ipv4(self, text: str) -> str:
        """Replace an address, or a network with its length."""
        address, slash, length = text.partition("/")
        try:
            old = ipaddress.IPv4Address(address)
            bits = int(length) if slash else 32
        except ValueError:
            return text
        if old.is_loopback or old.is_unspecified or old.is_multicast or old.is_reserved or bits > 32:
            return text
        kept = next((network.prefixlen for network in KEPT_4 if old in network), None)
        value = int(old)
        if kept is None:
            # A permutation by hash of the first octet; networks above /8 are not met.
            order = sorted(ORDINARY, key=lambda octet: self._hash(f"octet{octet}"))
            first = order[ORDINARY.index(value >> 24)] if value >> 24 in ORDINARY else value >> 24
            value, kept = first << 24 | value & 0xFFFFFF, 8
        value = self._flipped(value, 32, kept) >> (32 - bits) << (32 - bits)
        return f"{ipaddress.IPv4Address(value)}{slash}{length}"

    def ipv6(self, address: ipaddress.IPv6Address) -> ipaddress.IPv6Address:
        """Replace an address; what is made of an IPv4 address, a MAC or a GUID stays made of it."""
        if address.ipv4_mapped is not None:
            mapped = ipaddress.IPv4Address(self.ipv4(str(address.ipv4_mapped)))
            return ipaddress.IPv6Address((0xFFFF << 32) | int(mapped))
        if address.is_unspecified or address.is_loopback or address.is_multicast:
            return address
        value = int(address)
        prefix, low = value >> 64, value & (1 << 64) - 1
        kept_prefix = address.is_link_local or prefix in (0, 0xFE80 << 48)
        new = prefix if kept_prefix else self._flipped(prefix, 64, 16)
        made = low.to_bytes(8, "big")[3:5] in (b"\xff\xfe", b"\x03\x00")
        return ipaddress.IPv6Address(
            new << 64 | (self.eui64(low) if made or kept_prefix else self._flipped(low, 64, 0))
        )

    def ipv6_network(self, text: str) -> str:
        """Replace an address, or a network with its length; what is neither stays."""
        address, slash, length = text.partition("/")
        try:
            old = ipaddress.IPv6Address(address)
            bits = int(length) if slash else 128
        except ValueError:
            return text
        new = self.ipv6(old)
        if new == old or bits > 128:
            return text
        return f"{ipaddress.IPv6Address(int(new) >> (128 - bits) << (128 - bits))}{slash}{length}"

    def mac(self, value: int) -> int:
        """Replace the last three octets of a MAC."""
        if value in (0, (1 << 48) - 1):
            return value
        return value >> 24 << 24 | self._number("mac", value)

    def eui64(self, value: int) -> int:
        """Replace a GUID or interface identifier as the MAC that it is made of, or its vendor's own part."""
        octets = value.to_bytes(8, "big")
        if not any(octets[3:]):
            return value
        if octets[3:5] in (b"\xff\xfe", b"\x03\x00"):
            mac = int.from_bytes(octets[:3] + octets[5:], "big")
            universal = 2 << 40 if octets[3:5] == b"\xff\xfe" else 0
            new = (self.mac(mac ^ universal) ^ universal).to_bytes(6, "big")
            return int.from_bytes(new[:3] + octets[3:5] + new[3:], "big")
        return value >> 40 << 40 | self._number("guid", value)

    def number(self, kind: str, value: int) -> int:
        """Replace a number that only has to be another one; zero stays."""
        return self._number(kind, value) if value else 0

    def _token(self, match: re.Match[str]) -> str:
        kind, text = match.lastgroup or "", match[0]
        replaced = getattr(self, f"_{kind}")(text)
        assert isinstance(replaced, str)
        return replaced

    def _ipoib(self, text: str) -> str:
        return f"{text[:36]}{_grouped(self.eui64(int(text[36:].replace(':', ''), 16)), 16, 2)}"

    def _gid(self, text: str) -> str:
        return self.ipv6(ipaddress.IPv6Address(text)).exploded

    def _guid(self, text: str) -> str:
        return _grouped(self.eui64(int(text.replace(":", ""), 16)), 16, 4)

    def _mac(self, text: str) -> str:
        return _grouped(self.mac(int(text.replace(":", ""), 16)), 12, 2)

    def _enx(self, text: str) -> str:
        return f"{self.mac(int(text, 16)):012x}"

    def _gpu(self, text: str) -> str:
        return f"{self.number('gpu', int(text, 16)):016x}"

    def _hex64(self, text: str) -> str:
        return f"{text[:2]}{self.eui64(int(text, 16)):016x}"

    def _ipv6(self, text: str) -> str:
        return self.ipv6_network(text)

    def _ipv4(self, text: str) -> str:
        # Versions look like addresses: only what is known to be one is.
        return self.ipv4(text) if text.partition("/")[0] in self.addresses else text

    def _uuid(self, text: str) -> str:
        digits = self._digits("uuid", text.lower().replace("_", "-"))
        return "".join(old if old in "-_" else new for old, new in zip(text, digits, strict=True))

    def _long(self, text: str) -> str:
        return self._digits("long", text) if text.strip("0") else text

    def _digits(self, kind: str, text: str) -> str:
        """Return as many hexadecimal digits in place of a text."""
        return f"{self._number(kind, text):0{len(text)}x}"[-len(text) :]

    def _number(self, kind: str, value: object) -> int:
        if (kind, value) not in self._seen:
            self._count[kind] += 1
            self._seen[kind, value] = self._count[kind]
        return self._seen[kind, value]

    def _flipped(self, value: int, width: int, kept: int) -> int:
        """Flip each bit after the kept ones or not, as its leading bits say: two values share as many as before."""
        new = value
        for place in range(kept, width):
            if self._hash(f"{width}/{place}/{value >> (width - place)}")[0] & 1:
                new ^= 1 << (width - place - 1)
        return new

    def _hash(self, text: str) -> bytes:
        return hashlib.sha256(self._key + text.encode()).digest()


def _grouped(value: int, digits: int, size: int) -> str:
    text = f"{value:0{digits}x}"
    return ":".join(text[start : start + size] for start in range(0, digits, size))
