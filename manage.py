#!/usr/bin/env python
"""The command line of Ragsite."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line
from django.db import OperationalError

from ragsite.reranker_flags import print_list_if_asked

if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        print_list_if_asked(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    # Modules have no hyphens; commands may be asked for with them.
    names = slice(1, 3 if sys.argv[1:2] == ["help"] else 2)
    sys.argv[names] = [name.replace("-", "_") if not name.startswith("-") else name for name in sys.argv[names]]
    try:
        execute_from_command_line(sys.argv)
    except OperationalError:
        sys.exit("The database cannot be reached. Run script/server first, or set ConnectionStrings:RagDatabase.")
