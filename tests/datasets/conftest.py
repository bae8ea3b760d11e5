"""What the tests of the data sets share: a misbehaving local server, and the folder of the real data."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
HTML = b"<html><body>Please log in to the network.</body></html>"


class Server:
    """Serves `content` under every path, or fails in the way that `mode` names; counts whole requests."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.mode = "content"
        self.requested: list[str] = []
        self.released = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.answer(self)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        name = request.path.lstrip("/")
        self.requested.append(name)
        body = HTML if self.mode == "html" else self.content.get(name, b"?")
        if self.mode == "stall":
            self.released.wait(20)
            return
        if self.mode.isdigit():
            request.send_error(int(self.mode))
            return
        request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: len(body) // 2] if self.mode == "half" else body)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    running = Server()
    thread = threading.Thread(target=running.http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield running
    running.released.set()
    running.http.shutdown()
    running.http.server_close()
    thread.join()


@pytest.fixture(scope="session")
def real_root() -> Path:
    """The folder with the real data: NORMBENCH_DATA, else data/ of the repository."""
    return Path(os.environ.get("NORMBENCH_DATA") or REPOSITORY / "data")
