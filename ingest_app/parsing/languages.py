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
        ".cpp": "cpp",
        ".cs": "c_sharp",
        ".cxx": "cpp",
        ".go": "go",
        ".h": "c",
        ".hh": "cpp",
        ".hpp": "cpp",
        ".java": "java",
        ".js": "javascript",
        ".jsx": "javascript",
        ".kt": "kotlin",
        ".lua": "lua",
        ".mjs": "javascript",
        ".php": "php",
        ".pl": "perl",
        ".py": "python",
        ".pyi": "python",
        ".r": "r",
        ".rb": "ruby",
        ".rs": "rust",
        ".scala": "scala",
        ".sh": "bash",
        ".sql": "sql",
        ".swift": "swift",
        ".ts": "typescript",
        ".tsx": "tsx",
        ".vue": "vue",
    }
)
