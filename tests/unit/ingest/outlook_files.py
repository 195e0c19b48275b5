"""Small messages of Outlook made on the spot: properties in streams, in folders, in a compound file."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, pairwise
from typing import Any

Value = str | bytes | int | bool | datetime
Properties = Mapping[int, Value]
#: Streams and folders by name.
Folder = Mapping[str, Any]

_TYPES = {str: 0x001F, bytes: 0x0102, int: 0x0003, bool: 0x000B, datetime: 0x0040}
_END, _FREE, _FAT, _NONE = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD, 0xFFFFFFFF


def message(
    properties: Properties,
    *,
    recipients: Sequence[Properties] = (),
    attachments: Sequence[Properties] = (),
    forwarded: Sequence[Folder] = (),
    is_inner: bool = False,
    code_page: str | None = None,
) -> Folder:
    """The folder of a message; one that is forwarded within another `is_inner`. Without a code page it is Unicode."""
    folder = _item(properties, header=24 if is_inner else 32, code_page=code_page)
    for number, recipient in enumerate(recipients):
        folder[f"__recip_version1.0_#{number:08X}"] = _item(recipient, code_page=code_page)
    attached = [_item(attachment, code_page=code_page) for attachment in attachments]
    attached += [_item({}) | {"__substg1.0_3701000D": inner} for inner in forwarded]
    for number, attachment in enumerate(attached):
        folder[f"__attach_version1.0_#{number:08X}"] = attachment
    return folder


def _item(properties: Properties, *, header: int = 8, code_page: str | None = None) -> dict[str, Any]:
    folder: dict[str, Any] = {}
    entries = b""
    for number, value in properties.items():
        kind = 0x001E if code_page and isinstance(value, str) else _TYPES[type(value)]
        if isinstance(value, datetime):
            fixed = int((value - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10**7
        elif isinstance(value, int):
            fixed = value
        else:
            raw = value.encode(code_page or "utf-16-le") if isinstance(value, str) else value
            folder[f"__substg1.0_{number:04X}{kind:04X}"] = raw
            fixed = len(raw)
        entries += struct.pack("<HHIQ", kind, number, 6, fixed)
    return folder | {"__properties_version1.0": bytes(header) + entries}


@dataclass(kw_only=True)
class _Entry:
    name: str
    kind: int
    child: int = _NONE
    right: int = _NONE
    start: int = _END
    size: int = 0

    def packed(self) -> bytes:
        raw = (self.name + "\0").encode("utf-16-le")
        numbers = (len(raw), self.kind, 1, _NONE, self.right, self.child)
        return struct.pack("<64sHBBIII36xIQ", raw, *numbers, self.start, self.size)


class _CompoundFile:
    def __init__(self) -> None:
        self.sectors: list[bytes] = []
        self.chains: list[int] = []
        self.small: list[bytes] = []
        self.small_chains: list[int] = []
        self.entries: list[_Entry] = []

    def add(self, content: bytes) -> int:
        return _chain(content, 512, self.sectors, self.chains)

    def add_entry(self, name: str, content: Any) -> int:
        own = len(self.entries)
        entry = _Entry(name=name, kind=(1 if own else 5) if isinstance(content, Mapping) else 2)
        self.entries.append(entry)
        if isinstance(content, Mapping):
            inner = [self.add_entry(*item) for item in content.items()]
            for left, right in pairwise(inner):
                self.entries[left].right = right
            entry.child = inner[0] if inner else _NONE
        elif len(content) >= 4096:
            entry.start, entry.size = self.add(content), len(content)
        elif content:
            entry.start, entry.size = _chain(content, 64, self.small, self.small_chains), len(content)
        return own


def compound_file(root: Folder) -> bytes:
    """A compound file, version 3, with its small streams in the stream that is for them."""
    file = _CompoundFile()
    file.add_entry("Root Entry", root)
    small = b"".join(file.small)
    if small:
        file.entries[0].start, file.entries[0].size = file.add(small), len(small)
    small_fat = file.add(struct.pack(f"<{len(file.small_chains)}I", *file.small_chains)) if small else _END
    directory = file.add(b"".join(entry.packed() for entry in file.entries))
    chains = file.chains
    fat_sectors = next(n for n in count(1) if n * 128 >= len(chains) + n)
    places = range(len(file.sectors), len(file.sectors) + fat_sectors)
    fat = [*chains, *[_FAT] * fat_sectors]
    fat += [_FREE] * (fat_sectors * 128 - len(fat))
    head = struct.pack(
        "<8s16x5H6x9I",
        bytes.fromhex("d0cf11e0a1b11ae1"),
        *(0x3E, 3, 0xFFFE, 9, 6, 0, fat_sectors, directory, 0, 4096),
        *(small_fat, -(-len(file.small_chains) // 128), _END, 0),
    )
    head += struct.pack("<109I", *places, *[_FREE] * (109 - fat_sectors))
    return head + b"".join(file.sectors) + struct.pack(f"<{len(fat)}I", *fat)


def _chain(content: bytes, size: int, sectors: list[bytes], chains: list[int]) -> int:
    start = len(chains)
    pieces = [content[place : place + size].ljust(size, b"\0") for place in range(0, len(content), size)]
    sectors += pieces
    chains += [*range(start + 1, start + len(pieces)), _END]
    return start
