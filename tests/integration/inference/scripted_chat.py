"""A server that speaks OpenAI's and Anthropic's language over real HTTP and says what a test tells it to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MODEL = "scripted-1"
#: What a question took, as the server counts.
INPUT_TOKENS = 1000
OUTPUT_TOKENS = 200


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def system(self) -> str:
        if "system" in self.body:
            return str(self.body["system"])
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][-1]["content"])

    @property
    def passages(self) -> list[dict[str, Any]]:
        return list(json.loads(self.user)["passages"])


Step = Callable[["Handler", Asked], None]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # A handler may hang for as long as the test lives.
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[Asked] = []
        self.script: list[Step] = []
        self.otherwise: Step = status(418)
        self.released = threading.Event()
        self.is_dead = False
        #: What a request for the list of models must have; empty where it needs nothing.
        self.key = ""
        self.listings = 0
        #: Whoever asked did not wait for the end of `trickles`.
        self.hung_up = threading.Event()
        self.lock = threading.Lock()
        #: Calls that are being answered, and the most there ever were.
        self.under_way = 0
        self.most_under_way = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def plays(self, *steps: Step) -> None:
        """One step for each request in turn."""
        self.script[:] = steps

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return not self.is_dead

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *args: Any) -> None:
        """Says nothing."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = Asked(path=self.path, headers={k.lower(): v for k, v in self.headers.items()}, body=body)
        with self.server.lock:
            self.server.asked.append(asked)
            step = self.server.script.pop(0) if self.server.script else self.server.otherwise
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
        try:
            step(self, asked)
        finally:
            with self.server.lock:
                self.server.under_way -= 1

    def do_GET(self) -> None:
        """The list of models, for whoever has the key."""
        self.server.listings += 1
        if self.server.key and self.server.key not in str(self.headers):
            status(401, f"{self.headers} is wrong")(self, Asked(path=self.path, headers={}, body={}))
        else:
            self.send(json.dumps({"data": [{"id": MODEL}]}))

    def send(self, content: str, *, code: int = 200, kind: str = "application/json", **headers: str) -> None:
        data = content.encode()
        self.begin(code=code, **headers, kind=kind, Content_Length=str(len(data)))
        self.wfile.write(data)

    def begin(self, *, code: int = 200, kind: str = "application/json", **headers: str) -> None:
        self.send_response(code)
        for name, value in {**headers, "Content-Type": kind}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()


def says(text: str, *, tokens: bool = True) -> Step:
    """An answer of these words, in the language of the address that was asked."""

    def step(handler: Handler, asked: Asked) -> None:
        as_anthropic = asked.path.endswith("/messages")
        handler.send(json.dumps(_anthropic(text, asked) if as_anthropic else _openai(text, tokens=tokens)))

    return step


def vector_of(text: str, dimension: int = 3) -> list[float]:
    """Texts that share a letter of `abc` are near."""
    lower = text.lower()
    return [1.0 + lower.count(letter) for letter in "abcdefghijklmnop"[:dimension]]


def embeds(*, dimension: int = 3, backwards: bool = False, headers: Mapping[str, Any] | None = None) -> Step:
    """A good answer: a vector of each text, in whatever order."""

    def step(handler: Handler, asked: Asked) -> None:
        made = [vector_of(text, asked.body.get("dimensions", dimension)) for text in asked.body["input"]]
        data = [{"object": "embedding", "index": place, "embedding": one} for place, one in enumerate(made)]
        if backwards:
            data.reverse()
        handler.send(json.dumps({"object": "list", "data": data, "model": asked.body["model"]}), **(headers or {}))

    return step


def judges(score: Callable[[str], float]) -> Step:
    """A good answer: every passage, scored by its text."""

    def step(handler: Handler, asked: Asked) -> None:
        scores = [{"passage": one["passage"], "score": score(one["text"])} for one in asked.passages]
        says(json.dumps({"scores": scores}))(handler, asked)

    return step


def status(code: int, words: str = "no", **headers: str) -> Step:
    def step(handler: Handler, asked: Asked) -> None:
        handler.send(json.dumps({"error": {"message": words}}), code=code, **headers)

    return step


def sends(content: str, kind: str = "application/json", *, code: int = 200) -> Step:
    def step(handler: Handler, asked: Asked) -> None:
        handler.send(content, kind=kind, code=code)

    return step


def claims(length: int) -> Step:
    """The beginning of an answer that is said to be that long."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.begin(Content_Length=str(length))
        handler.wfile.write(b"{")
        handler.close_connection = True
        handler.server.released.wait()

    return step


def chunked(piece: bytes, *, times: int, code: int = 200) -> Step:
    """This piece so many times, with no word of its length."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.begin(code=code, Transfer_Encoding="chunked")
        handler.wfile.write((b"%x\r\n%s\r\n" % (len(piece), piece)) * times + b"0\r\n\r\n")

    return step


def compressed(data: bytes, *, code: int = 200) -> Step:
    """Data that are in the form of gzip, whatever was asked for."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.begin(code=code, Content_Encoding="gzip", Content_Length=str(len(data)))
        handler.wfile.write(data)

    return step


def hangs(handler: Handler, asked: Asked) -> None:
    """Never answers."""
    handler.server.released.wait()


def held(then: Step) -> Step:
    """Answers as soon as the test lets it."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.server.released.wait()
        then(handler, asked)

    return step


def held_for(seconds: float, then: Step) -> Step:
    """Answers after a while."""

    def step(handler: Handler, asked: Asked) -> None:
        handler.server.released.wait(seconds)
        then(handler, asked)

    return step


def trickles(handler: Handler, asked: Asked) -> None:
    """A byte now and then, without an end: no single read of it takes long."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while not handler.server.released.wait(0.02):
        try:
            handler.wfile.write(b" ")
        except OSError:
            handler.server.hung_up.set()
            raise


def dies(handler: Handler, asked: Asked) -> None:
    """Half an answer, and nobody answers any more."""
    handler.server.is_dead = True
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{")
    handler.close_connection = True


def refuses(*fields: str) -> Callable[[Step], Step]:
    """400 to whoever sends one of these forms of `response_format`, or one of these fields; else as the step."""

    def outer(otherwise: Step) -> Step:
        def step(handler: Handler, asked: Asked) -> None:
            form = asked.body.get("response_format", {}).get("type")
            known = [field for field in fields if field == form or field in asked.body]
            if known:
                status(400, f"{known[0]} is not supported")(handler, asked)
            else:
                otherwise(handler, asked)

        return step

    return outer


def _openai(text: str, *, tokens: bool) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    usage = {
        "prompt_tokens": INPUT_TOKENS,
        "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": MODEL,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        **({"usage": usage} if tokens else {}),
    }


def _anthropic(text: str, asked: Asked) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    if "tool_choice" in asked.body:
        content = [{"type": "tool_use", "id": "t1", "name": asked.body["tool_choice"]["name"], "input": _input(text)}]
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS}
    common = {"id": "m1", "type": "message", "role": "assistant", "model": MODEL, "stop_reason": "end_turn"}
    return {**common, "stop_sequence": None, "content": content, "usage": usage}


def _input(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"said": text}


@contextmanager
def running_server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        thread.join()
        server.server_close()
