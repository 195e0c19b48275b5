"""A supervisor with small programs in the places of web and worker: `fake_server.py DATA PORT KIND`.

Database and broker are given from outside unless KIND is `stores`, so that no time goes into them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ragsite.runtime import restarts
from ragsite.runtime.plan import BROKER_VARIABLE, DATABASE_VARIABLE, Options, Plan
from ragsite.runtime.supervisor import Supervisor

WEB = """
import http.server, sys, time
time.sleep(float(sys.argv[2]))
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Health).serve_forever()
"""
SLEEP = "import time; time.sleep(600)"
CHILDREN = {
    "plain": SLEEP,
    "stores": SLEEP,
    "with_offspring": "import subprocess, time; subprocess.Popen(['sleep', '600']); time.sleep(600)",
    "stubborn": "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)",
    "dying": "import sys, time; time.sleep(1); print('the cupboard is bare', flush=True); sys.exit(3)",
    "refused": "import sys; print('no such flag', flush=True); sys.exit(2)",
    "slow_step": SLEEP,
}


def main(data: Path, port: int, kind: str) -> int:
    """Run it until it is stopped."""
    if kind == "dying":
        restarts.FIRST_DELAY_SECONDS = 0.05
    slowness = "3" if kind == "refused" else "0"
    python = (sys.executable, "-c")
    plan = Plan(
        prepare={"migrate": (*python, SLEEP if kind == "slow_step" else "")},
        children={"web": (*python, WEB, str(port), slowness), "worker": (*python, CHILDREN[kind])},
        accounts={},
        demo={"load_demo": (*python, "print('demo loaded')")},
    )
    environ = dict(os.environ)
    if kind != "stores":
        environ |= {DATABASE_VARIABLE: "postgresql://given", BROKER_VARIABLE: "memory://"}
    return Supervisor(Options(data=data, port=port), plan=plan, environ=environ).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
