"""Has every Python of the server under test write down on SIGUSR2 where each of its threads is.

faulthandler writes from the signal handler itself, in the middle of a batch that the model works on, too. A Python
handler would wait for the batch to end.
"""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

if folder := os.environ.get("KILLS_STACKS"):
    faulthandler.register(signal.SIGUSR2, file=(Path(folder) / str(os.getpid())).open("a"), all_threads=True)
