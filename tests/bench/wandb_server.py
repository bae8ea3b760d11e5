"""A stand-in for W&B's server, on this machine: enough of it for a run without files, or one that fails in some way."""

import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "0123456789" * 4
WAIT = 600.0


class Server(ThreadingHTTPServer):
    """`behaviour`: answers, silent, or a status code that everything is answered with. It keeps what it was told."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behaviour: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = behaviour
        self.ended = threading.Event()
        self.runs: dict[str, dict[str, Any]] = {}
        self.history: dict[str, dict[int, dict[str, Any]]] = {}
        self.exit_codes: dict[str, int] = {}
        self.views: dict[str, dict[str, Any]] = {}
        self.artifacts: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, path: str, content: dict[str, Any]) -> dict[str, Any]:
        """The answer to a call, as far as a run needs one."""
        if path.endswith("/file_stream"):
            self._stream(path.split("/")[4], content)
            return {}
        query, variables = content.get("query", ""), content.get("variables") or {}
        if "upsertBucket" in query:
            return {"data": {"upsertBucket": {"bucket": self._upsert(variables), "inserted": True}}}
        if "upsertView" in query:
            self.views[variables["name"]] = json.loads(variables["spec"])
            return {"data": {"upsertView": {"view": {"id": "v", "name": variables["name"]}, "inserted": True}}}
        if "createRunFiles" in query:
            files = [{"name": name, "uploadUrl": f"{self.url}/put/{name}"} for name in variables["files"]]
            return {"data": {"createRunFiles": {"runID": "r", "uploadHeaders": [], "files": files}}}
        if "createArtifact(" in query:  # it has the content already, so that nothing of it is sent
            self.artifacts += [variables["input"]["artifactTypeName"]]
            artifact = {"id": "a", "state": "COMMITTED", "artifactSequence": {"id": "s", "latestArtifact": None}}
            return {"data": {"createArtifact": {"artifact": artifact}}}
        if "query ArtifactType" in query:
            return {"data": {"project": {"artifact": None}}}
        if "viewer" in query:
            viewer = {"id": "u", "entity": "me", "username": "me", "flags": "{}", "teams": {"edges": []}}
            return {"data": {"viewer": viewer, "serverInfo": {"cliVersionInfo": {}, "latestLocalVersionInfo": None}}}
        return {"data": {}}

    def _upsert(self, variables: dict[str, Any]) -> dict[str, Any]:
        given = {name: value for name, value in variables.items() if value is not None}
        run = self.runs.setdefault(variables["name"], {})
        run |= given
        project = {"id": "p", "name": "p", "entity": {"id": "e", "name": "me"}}
        fixed = {"id": "b", "description": "", "sweepName": None, "project": project, "historyLineCount": 0}
        return fixed | {"name": variables["name"], "displayName": run.get("displayName", ""), "config": "{}"}

    def _stream(self, run: str, content: dict[str, Any]) -> None:
        part = content.get("files", {}).get("wandb-history.jsonl", {})
        for place, line in enumerate(part.get("content", []), start=part.get("offset", 0)):
            self.history.setdefault(run, {})[place] = json.loads(line)
        if content.get("complete"):
            self.exit_codes[run] = content["exitcode"]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.server.behaviour == "silent":
            self.server.ended.wait(WAIT)
            return
        if self.server.behaviour != "answers":
            self._send(int(self.server.behaviour), {})
            return
        if "json" not in self.headers.get("content-type", ""):  # files and telemetry
            self._send(200, {})
            return
        body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body
        self._send(200, self.server.answer(self.path, json.loads(body)))

    def _send(self, code: int, content: dict[str, Any]) -> None:
        text = json.dumps(content).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_arguments: Any) -> None:
        """Nothing on standard error."""


@contextmanager
def serving(behaviour: str) -> Iterator[Server]:
    """The server, up to the end of the block."""
    server = Server(behaviour)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.ended.set()
        server.shutdown()
        server.server_close()
