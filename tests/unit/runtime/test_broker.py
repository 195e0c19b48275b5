"""Which broker an embedded server uses and how it is started."""

from __future__ import annotations

from pathlib import Path

from ragsite.runtime.broker import embedded_broker, find_server
from ragsite.runtime.folders import SocketFolder


def test_a_server_of_the_machine_comes_first() -> None:
    assert find_server(lambda name: f"/bin/{name}" if name == "redis-server" else None) == "/bin/redis-server"
    assert find_server(lambda name: f"/bin/{name}" if name == "valkey-server" else None) == "/bin/valkey-server"


def test_redis_has_a_private_socket_no_port_and_keeps_its_messages(tmp_path: Path) -> None:
    sockets = SocketFolder(tmp_path / "record")
    try:
        broker = embedded_broker(tmp_path, sockets, server="/bin/redis-server")
        assert broker.command is not None
        pairs = dict(zip(broker.command[1::2], broker.command[2::2], strict=True))
        assert broker.command[0] == "/bin/redis-server"
        assert pairs["--port"] == "0"
        assert pairs["--unixsocketperm"] == "700"
        assert (pairs["--appendonly"], pairs["--dir"]) == ("yes", str(tmp_path / "broker"))
        assert broker.url == f"redis+socket://{pairs['--unixsocket']}?virtual_host=0"
        assert Path(pairs["--unixsocket"]).parent.stat().st_mode & 0o777 == 0o700
    finally:
        sockets.remove()


def test_folders_in_the_data_folder_where_there_is_no_server(tmp_path: Path) -> None:
    broker = embedded_broker(tmp_path, SocketFolder(tmp_path / "record"), server=None)
    assert broker.command is None
    assert broker.url == f"filesystem://{tmp_path}/broker"
    assert {path.name for path in (tmp_path / "broker").iterdir()} == {"messages", "control"}
