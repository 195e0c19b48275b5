#!/usr/bin/env python
"""The web server alone: the same flags and behaviour as `manage.py serve`."""

from __future__ import annotations

import os
import sys

from django.core.management import execute_from_command_line

from ragsite.reranker_flags import print_list_if_asked

if __name__ == "__main__":
    print_list_if_asked(sys.argv[1:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    execute_from_command_line([sys.argv[0], "serve", *sys.argv[1:]])
