"""Fails when the suite skipped a test for a reason that is not on the list: a skip must not hide a hole."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def main(report: Path, allowed: Path) -> int:
    """Print every skip whose reason is not listed; the exit status is their number, at most 1."""
    reasons = [line.strip() for line in allowed.read_text(encoding="utf-8").splitlines()]
    listed = {reason for reason in reasons if reason and not reason.startswith("#")}
    found = 0
    for case in ElementTree.parse(report).iter("testcase"):  # noqa: S314 - written by our own pytest
        for skip in case.iter("skipped"):
            reason = skip.get("message", "")
            if reason not in listed:
                print(f"skipped: {case.get('classname')}.{case.get('name')}: {reason}")  # noqa: T201
                found += 1
    return min(found, 1)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
