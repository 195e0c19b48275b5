"""Which extension belongs to which programming language."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

#: Extension to language. Languages whose grammar is not installed are read as text without definitions.
LANGUAGES: Mapping[str, str] = MappingProxyType(
    {
        ".bash": "bash",
        ".c": "c",
        ".cc": "cpp",
        ".cjs": "javascript",
        ".cpp": "cpp",
        ".cs": "c_sharp",
        ".cts": "typescript",
        ".cxx": "cpp",
        ".go": "go",
        ".h": "c",
        ".hh": "cpp",
        ".hpp": "cpp",
        ".hxx": "cpp",
        ".java": "java",
        ".js": "javascript",
        ".jsx": "javascript",
        ".kt": "kotlin",
        ".kts": "kotlin",
        ".lua": "lua",
        ".mjs": "javascript",
        ".mts": "typescript",
        ".php": "php",
        ".pl": "perl",
        ".py": "python",
        ".pyi": "python",
        ".pyw": "python",
        ".r": "r",
        ".rake": "ruby",
        ".rb": "ruby",
        ".rs": "rust",
        ".scala": "scala",
        ".sh": "bash",
        ".sql": "sql",
        ".swift": "swift",
        ".ts": "typescript",
        ".tsx": "tsx",
        ".vue": "vue",
        ".zsh": "bash",
    }
)
