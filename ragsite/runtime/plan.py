"""Which commands make a server, and what the command line may choose about them."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DATABASE_VARIABLE = "ConnectionStrings__RagDatabase"
BROKER_VARIABLE = "ConnectionStrings__Broker"

Command = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the command line chose; `data` is absolute."""

    data: Path
    host: str = "127.0.0.1"
    port: int = 8000
    demo: bool = True
    verbose: bool = False
    serve_flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The commands of a server by name. `children` run as long as the server does, the others end.

    `check` comes before anything is started: it refuses a configuration that cannot work, and its last
    line is a JSON list of the addresses that are configured. `prepare` comes before the children,
    `accounts` while they start, `demo` once after the first answer; the last two speak to the console.
    """

    check: Mapping[str, Command] = field(default_factory=dict)
    prepare: Mapping[str, Command]
    children: Mapping[str, Command]
    accounts: Mapping[str, Command]
    demo: Mapping[str, Command]


def server_plan(options: Options) -> Plan:
    """The real commands, run by the Python that runs us."""
    manage = (sys.executable, str(ROOT / "manage.py"))
    celery = (sys.executable, "-m", "celery", "-A", "ragsite", "--quiet")
    worker = (*celery, "worker", "--pool", "solo", "--without-gossip", "--without-mingle")
    schedule = str(options.data / "beat" / "schedule")
    address = ("--host", options.host, "--port", str(options.port))
    return Plan(
        check={"preflight": (*manage, "preflight", "--host", options.host)},
        prepare={"migrate": (*manage, "migrate", "--noinput")},
        children={
            "web": (*manage, "serve", *address, *options.serve_flags),
            "worker": (*worker, "-Q", "default", "-n", "worker@%h"),
            "control": (*worker, "-Q", "control", "-n", "control@%h"),
            "sync": (*worker, "-Q", "sync", "-n", "sync@%h"),
            "maintenance": (*worker, "-Q", "maintenance", "-n", "maintenance@%h"),
            "beat": (*celery, "beat", "--schedule", schedule, "--pidfile="),
        },
        accounts={"ensure_admin": (*manage, "ensure_admin")},
        demo={"load_demo": (*manage, "load_demo")} if options.demo else {},
    )


def given(environ: Mapping[str, str], variable: str) -> str | None:
    """The variable's value whatever the case of its name, as the settings read it; None when empty."""
    return next((text for name, text in environ.items() if name.lower() == variable.lower() and text), None)


def base_url(host: str, port: int) -> str:
    """What to open on this machine."""
    return f"http://{f'[{own}]' if ':' in (own := own_address(host)) else own}:{port}"


def own_address(host: str) -> str:
    """Where this machine itself reaches a server that listens on `host`."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
