"""Plugs the rooms together: settings, wiring, urls, the processes. Imported by nobody."""

from __future__ import annotations

__version__ = "0.1.0"
