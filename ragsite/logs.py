"""Structured log lines with the request or task they belong to, for people or for collectors."""

from __future__ import annotations

import logging
from typing import Any, Literal

import structlog

_SHARED: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]

_QUIET = (
    "httpx", "httpcore", "httpx2", "httpcore2", "openai", "anthropic", "asyncio", "urllib3",
    "sentence_transformers", "trafilatura", "htmldate", "mcp",
)  # fmt: skip


class RefusalsWithoutTrace(logging.Filter):
    """What Django refused for a mistake in the request is a line, not a crash with a trace."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.security."):
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def logging_settings(*, level: str, form: Literal["console", "json"]) -> dict[str, Any]:
    """The standard library's logging, rendered by structlog, on standard error."""
    # Plain traces: the renderer's own choice, where it finds rich, prints local variables, and those are
    # people's texts and keys.
    console = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    renderer: structlog.typing.Processor = structlog.processors.JSONRenderer() if form == "json" else console
    final: list[structlog.typing.Processor] = [structlog.stdlib.ProcessorFormatter.remove_processors_meta]
    if form == "json":
        final.append(structlog.processors.format_exc_info)
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [*final, renderer],
                "foreign_pre_chain": [structlog.stdlib.ExtraAdder(), *_SHARED],
            }
        },
        "filters": {"refusals": {"()": RefusalsWithoutTrace}},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines", "filters": ["refusals"]}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # Libraries speak when something is wrong. Those of the chat models would print texts and keys.
            **{name: {"level": "WARNING"} for name in _QUIET},
            # Django warns of every mistake of a client; those are answered, not logged.
            "django.request": {"level": "ERROR"},
        },
    }
