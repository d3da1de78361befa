"""What lies in a vault beside plain files: links, pipes, devices, swaps under way, patterns that run away."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.edges.processes import PATIENCE, environment
from tests.index.live_wiki import LiveWiki
from wikimcp.citations.anchors import SourceRoots
from wikimcp.errors import NotFound, SettingsError, WikimcpError
from wikimcp.index.git_log import find_repository
from wikimcp.vaults.detect import detect
from wikimcp.vaults.globs import PathPattern, compile_globs
from wikimcp.vaults.opening import Bounds, listed_folder, read_file
from wikimcp.vaults.options import VaultOptions

SECRET = "the key of the vault next door"
ROUNDS = 400


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "page.md").write_text(f"# Secret\n\n{SECRET}\n")
    (folder / "secretname.md").write_text(f"# Secret\n\n{SECRET}\n")
    (folder / "secretname.png").write_bytes(b"x")
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "vault"
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "page.md").write_text("# Page\n\nplain\n")
    (folder / "in" / "secretless.py").write_text("plain\n")
    return folder


@contextmanager
def swapped_all_the_time(folder: Path, outside: Path) -> Iterator[None]:
    """Put a link to the outside in the place of a folder and back, again and again, while the block runs."""
    aside, link = folder.with_name(".aside"), folder.with_name(".link")
    link.symlink_to(outside)
    script = (
        "import os, sys; folder, aside, link = sys.argv[1:]; print('on', flush=True)\n"
        "while True:\n    os.rename(folder, aside); os.rename(link, folder)\n"
        "    os.rename(folder, link); os.rename(aside, folder)"
    )
    words = [sys.executable, "-c", script, str(folder), str(aside), str(link)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            process.stdout.readline()
            yield
        finally:
            process.kill()


def _outcomes(read: Callable[[], str | None]) -> set[str | None]:
    """Return all that reading again and again gave; None stands for a refusal."""
    found: set[str | None] = set()
    for _ in range(ROUNDS):
        try:
            found.add(read())
        except (OSError, WikimcpError):
            found.add(None)
    return found


def test_a_page_is_never_read_through_a_folder_that_becomes_a_link(vault: Path, outside: Path) -> None:
    bounds = Bounds.of(vault)
    with swapped_all_the_time(vault / "in", outside):
        found = _outcomes(lambda: read_file(bounds, "in/page.md", cap=1000).data.decode())
    assert found <= {None, "# Page\n\nplain\n"}


def test_a_walk_names_nothing_of_a_folder_that_becomes_a_link(vault: Path, outside: Path) -> None:
    adapter = detect(vault, VaultOptions(adapter="generic"))

    def names() -> str:
        scan = adapter.scan()
        return " ".join([*(stamp.path for stamp in scan.files), *scan.attachments])

    with swapped_all_the_time(vault / "in", outside):
        found = _outcomes(names)
    assert not any("secretname" in text for text in found if text)


def test_a_folder_that_became_a_link_is_not_listed(vault: Path, outside: Path) -> None:
    (outside / "deep").mkdir()
    (vault / "link").symlink_to(outside)
    bounds = Bounds.of(vault)
    for path in ("link", "link/deep"):
        with pytest.raises(OSError), listed_folder(bounds, f"{bounds.root}/{path}"):  # noqa: PT011
            pytest.fail("it was listed")
    with listed_folder(bounds, f"{bounds.root}/in") as entries:
        assert {entry.name for entry in entries} == {"page.md", "secretless.py"}


def test_a_source_file_is_never_read_through_a_folder_that_becomes_a_link(vault: Path, outside: Path) -> None:
    (outside / "secretless.py").write_text(SECRET)
    roots = SourceRoots([vault], hidden=lambda _: False)
    with swapped_all_the_time(vault / "in", outside):
        found = _outcomes(lambda: roots.read("in/secretless.py"))
    assert found <= {None, "plain\n"}


def test_links_that_leave_in_any_way_are_not_served(vault: Path, outside: Path) -> None:
    (vault / "direct.md").symlink_to(outside / "page.md")
    (vault / "folder").symlink_to(outside, target_is_directory=True)
    (vault / "chain.md").symlink_to("direct.md")
    (vault / "dots.md").symlink_to("in/../../outside/page.md")
    (vault / "loop.md").symlink_to("loop.md")
    (vault / "proc.md").symlink_to("/proc/self/environ")
    adapter = detect(vault, VaultOptions(adapter="generic"))
    assert [stamp.path for stamp in adapter.scan().files] == ["in/page.md"]
    for path in ("direct.md", "folder/page.md", "chain.md", "dots.md", "loop.md", "proc.md"):
        with pytest.raises((NotFound, OSError)) as caught:
            adapter.read(path)
        assert str(outside) not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [".obsidian/app.json", ".vscode/settings.json", "dendron.yml", "quartz.config.ts", "logseq/config.edn"]
    + [".wiki-compiler.json", "wikimcp.toml", ".wikimcp.yaml", "graph/graph.json", "page.md", ".git"]
    + [".git/HEAD", ".git/commondir"],
)
def test_a_pipe_in_the_place_of_any_file_of_a_vault_keeps_nobody_waiting(tmp_path: Path, name: str) -> None:
    vault = tmp_path / "vault"
    file = vault / name
    file.parent.mkdir(parents=True)
    (vault / "pages").mkdir(exist_ok=True)
    (vault / "pages" / "open.md").write_text("# Open\n\nThe barley is in.\n")
    os.mkfifo(file)
    done = subprocess.run(
        [sys.executable, "-m", "wikimcp", "bundle", "barley", "--vault", str(vault), "--json"],
        env=environment(
            HOME=str(tmp_path), WIKIMCP_EMBEDDER="none", WIKIMCP_STATE_DIR=str(tmp_path / "state")
        ),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sections"][0]["slug"].endswith("open")


@pytest.mark.parametrize("name", ["HEAD", "commondir"])
def test_a_pipe_inside_of_git_keeps_nobody_waiting(vault: Path, name: str) -> None:
    (vault / ".git").mkdir()
    os.mkfifo(vault / ".git" / name)
    repository = find_repository(vault, {})
    assert repository is not None
    assert repository.mark()


def test_sockets_and_folders_that_are_named_like_pages_are_not_opened(tmp_path: Path) -> None:
    import socket

    wiki = LiveWiki(tmp_path)
    wiki.write("open.md", "# Open\n")
    (wiki.vault / "folder.md").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(wiki.vault / "s.md"))
        try:
            assert wiki.slugs() == ["open"]
        finally:
            wiki.stop()


def test_asking_for_folders_as_source_files_leaves_no_descriptor_open(vault: Path) -> None:
    roots = SourceRoots([vault], hidden=lambda _: False)
    before = len(os.listdir("/proc/self/fd"))
    assert [roots.read("in") for _ in range(20)] == [None] * 20
    assert len(os.listdir("/proc/self/fd")) == before


GLOBS = ["**/" * 12 + "zz", "*a" * 15 + "zz", "**a" * 8 + "zz", "[a-z]*" * 20 + "!", "?*" * 30 + "\u00e9"]


@pytest.mark.parametrize("glob", GLOBS)
def test_a_glob_takes_a_path_length_of_work_whatever_it_is(glob: str) -> None:
    script = (
        "import sys; from wikimcp.vaults.globs import compile_globs\n"
        "pattern = compile_globs([sys.argv[1]]); assert pattern is not None\n"
        "assert not pattern.match('a/' * 120 + 'b.md'); assert not pattern.match('a' * 250)"
    )
    done = subprocess.run([sys.executable, "-c", script, glob], env=environment(), timeout=PATIENCE)
    assert done.returncode == 0


@pytest.mark.parametrize("expression", ["(a+)+$", "(a|a)*b", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)x"])
def test_an_expression_of_obsidians_settings_cannot_hang_the_walk(tmp_path: Path, expression: str) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": [f"/{expression}/"]}))
    (tmp_path / ("a" * 60 + "!.md")).write_text("# A\n")
    script = (
        "import sys; from pathlib import Path; from wikimcp.vaults.detect import detect\n"
        "from wikimcp.vaults.options import VaultOptions\n"
        "print(len(detect(Path(sys.argv[1]), VaultOptions()).scan().files))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=environment(),
        timeout=PATIENCE,
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "1", done.stderr


@pytest.mark.parametrize(
    "expression",
    [r"(?=a)a", r"(?<!z)a", r"(?!b)a(?:$|.)", r"(a)?\1?a", r"(?=(?:[()]|\)|b){2})?a", r"(?<name>a)\k<name>?"],
)
def test_what_only_backtracking_could_tell_leaves_out_rather_more_than_less(
    tmp_path: Path, expression: str
) -> None:
    (tmp_path / ".obsidian").mkdir()
    (tmp_path / ".obsidian" / "app.json").write_text(json.dumps({"userIgnoreFilters": [f"/{expression}/"]}))
    for name in ("a.md", "o.md"):
        (tmp_path / name).write_text("# A page\n")
    assert [stamp.path for stamp in detect(tmp_path, VaultOptions()).scan().files] == ["o.md"]


@pytest.mark.parametrize(
    ("glob", "hit", "missed"),
    [
        ("[z-a]1.md", "m1.md", "M1.md"),
        ("[!a-c]1.md", "d1.md", "b1.md"),
        ("[a&&b~~-].md", "&.md", "c.md"),
        ("[[x].md", "[.md", "y.md"),
        ("a b (c){2}|$^.md", "a b (c){2}|$^.md", "a b cc.md"),
        ("l\u00e4ger/**/x\\n", "l\u00e4ger/b/c/x/n", "lager/b/x"),
    ],
)
def test_signs_that_mean_something_to_an_engine_mean_only_what_a_glob_says(
    glob: str, hit: str, missed: str
) -> None:
    pattern = compile_globs([glob])
    assert pattern is not None
    assert pattern.match(hit)
    assert not pattern.match(missed)


def test_more_globs_than_can_be_matched_are_an_error_of_the_settings(vault: Path) -> None:
    many = tuple(f"{'?*' * 40}{number}[a-z]" for number in range(2_000))
    for options in (VaultOptions(ignore=many), VaultOptions(private=many)):
        with pytest.raises(SettingsError, match="too many or too long"):
            detect(vault, options).scan()


def test_a_pattern_survives_the_way_to_another_process() -> None:
    pattern = pickle.loads(pickle.dumps(PathPattern("a|b", fold=True)))
    assert pattern.match("Bc")
    assert not pattern.match("cb")
