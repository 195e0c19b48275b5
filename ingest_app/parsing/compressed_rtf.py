"""The RTF in messages of Outlook, which is compressed in a way of its own ([MS-OXRTFCP])."""

from __future__ import annotations

import struct

_HEADER = struct.Struct("<IIII")
_COMPRESSED = 0x75465A4C
_UNCOMPRESSED = 0x414C454D
_RING = 4096
_BEGINNING = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript \fdecor MS Sans Serif"
    rb"SymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    + b"\r\n"
    + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def decompressed(content: bytes, *, most: int) -> bytes:
    """The RTF in a property as far as it is whole, `most` bytes of it. Raises ValueError for anything else."""
    if len(content) < _HEADER.size:
        raise ValueError("too short for compressed RTF")
    _, raw_size, kind, _ = _HEADER.unpack_from(content)
    packed = content[_HEADER.size :]
    if kind == _UNCOMPRESSED:
        return packed[: min(raw_size, most)]
    if kind != _COMPRESSED:
        raise ValueError("no compressed RTF")
    return _unpacked(packed, most=most)


def _unpacked(packed: bytes, *, most: int) -> bytes:
    """Literals, and references into the last 4,096 bytes written; a reference to where is written next is the end."""
    found = bytearray(_BEGINNING)
    start = len(found)
    position = 0
    while position < len(packed) and len(found) - start < most:
        control = packed[position]
        position += 1
        for bit in range(8):
            if not control >> bit & 1:
                found += packed[position : position + 1]
                position += 1
                continue
            if position + 2 > len(packed):
                break
            reference = packed[position] << 8 | packed[position + 1]
            position += 2
            back = (len(found) - (reference >> 4)) % _RING
            if back == 0:
                return bytes(found[start:])
            for _ in range((reference & 15) + 2):
                # What lies before the beginning was never written.
                found.append(found[-back] if back <= len(found) else 0)
    return bytes(found[start : start + most])
