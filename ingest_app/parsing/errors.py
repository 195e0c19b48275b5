"""The one failure of parsing: a sentence for the user and a code for programs."""

from __future__ import annotations


class UnableToParse(Exception):
    """A file gave no document.

    `detail` is one sentence that says what to do, free of paths. `code` is one of
    `corrupt_file`, `empty_file`, `encrypted`, `parse_timeout`, `parser_crashed`, `scanned_pdf`,
    `too_large`, `unsupported_type`.
    """

    def __init__(self, detail: str, code: str) -> None:
        super().__init__(detail)
        self.detail = detail
        self.code = code
