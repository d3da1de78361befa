"""Pulling from a hub: the real client against a small hub on this machine, and against none."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

from wikimcp.embedders.hub import choose_files, pull_from_hub
from wikimcp.embedders.model_store import list_models
from wikimcp.errors import BadArgument, NotFound, StateError, Unavailable

pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")

REVISION = "0123456789abcdef0123456789abcdef01234567"
BGE = "Qdrant/bge-small-en-v1.5-onnx-Q"


class SmallHub(ThreadingHTTPServer):
    """Serves files by name as model repositories, and remembers what was fetched."""

    def __init__(self, repositories: dict[str, dict[str, bytes]]) -> None:
        super().__init__(("127.0.0.1", 0), HubHandler)
        self.repositories = repositories
        self.served: list[str] = []

    @property
    def address(self) -> str:
        """What a client is given as endpoint."""
        return f"http://127.0.0.1:{self.server_address[1]}"


class HubHandler(BaseHTTPRequestHandler):
    """Answers what the client asks: a model's description, its tree, its files."""

    server: SmallHub

    def do_HEAD(self) -> None:
        """Answer with headers."""
        self._answer(body=False)

    def do_GET(self) -> None:
        """Answer with headers and content."""
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        path = unquote(urlsplit(self.path).path)
        for name, files in self.server.repositories.items():
            if path.startswith(f"/api/models/{name}"):
                return self._send(200, self._description(name, files, path), body=body)
            for file, content in files.items():
                if path == f"/{name}/resolve/{REVISION}/{file}":
                    if body:
                        self.server.served.append(file)
                    return self._send(200, content, body=body)
        self._send(404, b"{}", body=body, headers={"X-Error-Code": "RepoNotFound"})

    def _description(self, name: str, files: dict[str, bytes], path: str) -> bytes:
        listed = [{"rfilename": file, "size": len(content)} for file, content in files.items()]
        if "/tree/" in path:
            tree = [
                {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}
                for file, content in files.items()
            ]
            return json.dumps(tree).encode()
        return json.dumps(
            {"id": name, "sha": REVISION, "siblings": listed, "cardData": {"license": "mit"}}
        ).encode()

    def _send(
        self,
        status: int,
        content: bytes,
        *,
        body: bool,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)
        self.close_connection = True

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the test's output clean."""


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture(autouse=True)
def no_other_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the client from asking the public hub, whatever its endpoint is, which programs run it."""
    monkeypatch.setattr("huggingface_hub.utils._detect_agent._fetch_registry", lambda: None, raising=False)


@pytest.fixture
def hub(tiny_model: Path) -> Iterator[SmallHub]:
    files = files_of(tiny_model)
    quantised = {**files, "model_optimized.onnx": files["model.onnx"], "pytorch_model.bin": b"x" * 1000}
    del quantised["model.onnx"], quantised["1_Pooling/config.json"]
    nested = {**files, "onnx/model_quantized.onnx": files["model.onnx"], "README.md": b"# A model"}
    del nested["model.onnx"]
    plain = {"config.json": b"{}", "model.safetensors": b"weights"}
    server = SmallHub({BGE: quantised, "someone/my-model": nested, "someone/plain": plain})
    thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_known_model_comes_whole_with_progress_and_a_note(hub: SmallHub, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    model = pull_from_hub(
        "bge-small-en-v1.5", tmp_path, lambda *step: steps.append(step), endpoint=hub.address
    )
    assert (model.name, model.onnx, model.pooling) == ("bge-small-en-v1.5", "model_optimized.onnx", "cls")
    assert (model.source, model.licence) == (f"{BGE} @ {REVISION[:12]}", "MIT")
    assert model.query_prompt.startswith("Represent this sentence")
    assert "pytorch_model.bin" not in hub.served
    assert steps[-1][0] == "download"
    assert steps[-1][1] == steps[-1][2] > 10_000
    assert all(0 <= done <= total for _, done, total in steps)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bge-small-en-v1.5"]
    assert not (model.path / ".cache").exists()


def test_any_repository_with_an_onnx_export_can_be_named(hub: SmallHub, tmp_path: Path) -> None:
    model = pull_from_hub("someone/my-model", tmp_path, endpoint=hub.address)
    assert (model.onnx, model.pooling, model.licence) == ("onnx/model_quantized.onnx", "mean", "mit")
    assert (model.path / "README.md").read_text() == "# A model"
    assert [found.name for found in list_models(tmp_path).installed] == ["my-model"]


def test_pulling_again_replaces_what_was_there(hub: SmallHub, tmp_path: Path) -> None:
    first = pull_from_hub("someone/my-model", tmp_path, endpoint=hub.address)
    (first.path / "stray").touch()
    second = pull_from_hub("someone/my-model", tmp_path, endpoint=hub.address)
    assert second.fingerprint == first.fingerprint
    assert not (second.path / "stray").exists()


def test_a_repository_without_an_export_or_without_a_model_is_named(hub: SmallHub, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"someone/plain has no model\.onnx and no tokenizer\.json and no"):
        pull_from_hub("someone/plain", tmp_path, endpoint=hub.address)
    with pytest.raises(NotFound, match="no model someone/nothing that you may read"):
        pull_from_hub("someone/nothing", tmp_path, endpoint=hub.address)
    assert list(tmp_path.iterdir()) == []


def test_no_hub_is_told_with_the_other_ways(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match=r"--from-index\. .*copy a model folder") as caught:
        pull_from_hub("BAAI/bge-small-en-v1.5", tmp_path / "models", endpoint="http://127.0.0.1:9")
    assert caught.value.code == "unavailable"
    assert not (tmp_path / "models").exists()


def test_a_damaged_export_is_not_installed_over_a_good_one(hub: SmallHub, tmp_path: Path) -> None:
    good = pull_from_hub("someone/my-model", tmp_path, endpoint=hub.address)
    hub.repositories["someone/my-model"]["1_Pooling/config.json"] = b"{"
    with pytest.raises(Unavailable, match="1_Pooling/config.json"):
        pull_from_hub("someone/my-model", tmp_path, endpoint=hub.address)
    assert [found.problem for found in list_models(tmp_path).installed] == [""]
    assert [path.name for path in tmp_path.iterdir()] == [good.name]


@pytest.mark.parametrize("name", ["bge-smal-en-v1.5", "", "../x", "a/..", "a/b/c", "https://hub/x", "a b/c"])
def test_a_name_of_another_form_is_refused_with_the_nearest(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadArgument, match=r"Did you mean|Known: BAAI/bge-small-en-v1\.5"):
        pull_from_hub(name, tmp_path, endpoint="http://127.0.0.1:9")


def test_one_onnx_file_is_chosen_with_its_data() -> None:
    sizes = dict.fromkeys(
        [
            *("onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_quantized.onnx_data"),
            *("tokenizer.json", "tokenizer_config.json", "config.json", "model.safetensors"),
        ],
        1,
    )
    assert choose_files("a/b", sizes) == [
        *("onnx/model_quantized.onnx", "onnx/model_quantized.onnx_data"),
        *("tokenizer.json", "tokenizer_config.json", "config.json"),
    ]


def test_a_models_directory_that_cannot_be_written_is_a_state_error(hub: SmallHub, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StateError, match="models directory cannot be written"):
        pull_from_hub("someone/my-model", tmp_path / "file", endpoint=hub.address)


def test_without_the_client_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(Unavailable, match=r"pip install .fastembed"):
        pull_from_hub("BAAI/bge-small-en-v1.5", tmp_path)
