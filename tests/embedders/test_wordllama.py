"""The wordllama member: equal to the library it reads the files of, cut safely, damage told apart."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from wikimcp.embedders.wordllama import TOKENIZER, WEIGHTS, PieceTokenizer, WordLlamaEmbedder, split
from wikimcp.errors import Unavailable
from wikimcp.ports import TokenEmbedder

TEXTS = [
    "How do I reset my password?",
    "# Heading\n\n- a list item with `code` and [[Wiki Link|label]]\n- another, 2031-02-03, ADR-0042\n",
    "| table | of | cells |\n|---|---|---|\n| 1 | café_naïve² | C++ |\r\n\tTabbed   spaced    out",
    "把巡检结果写进周报，然后通知值班. 設定ファイルを直した. 배포 절차를 적었다",
    "Сверка платежей — «в пятницу»; Ελληνικά, العربية, हिन्दी 🦊🦊 №1",
    " leading and trailing ",
    "```python\nfor index in range(10):\n    print(f'{index!r}')\n```",
    "x" * 500,
]
LIBRARY = """
import json, os, sys
import numpy, wordllama
texts = json.load(open(sys.argv[1]))
model = wordllama.WordLlama.load(cache_dir=os.path.dirname(wordllama.__file__), disable_download=True)
numpy.save(sys.argv[2], model.embed(texts, norm=True))
"""


def library_folder() -> Path:
    spec = find_spec("wordllama")
    assert spec is not None and spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(library_folder() / TOKENIZER))


@pytest.fixture(scope="module")
def pieces() -> PieceTokenizer:
    return PieceTokenizer(Tokenizer.from_file(str(library_folder() / TOKENIZER)))


def own_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return ids


def test_vectors_equal_the_librarys_own(tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps(TEXTS))
    # In a process of its own: importing the library sets up logging for the whole process.
    command = [sys.executable, "-c", LIBRARY, str(tmp_path / "texts.json"), str(tmp_path / "vectors.npy")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    theirs = np.load(tmp_path / "vectors.npy")
    assert np.abs(WordLlamaEmbedder().embed(TEXTS) - theirs).max() < 1e-3


def test_no_token_of_the_vocabulary_reaches_across_a_cut(tokenizer: Tokenizer) -> None:
    cut = []
    for token in tokenizer.get_vocab():
        text = token.replace("\u2581", " ")
        if len(text.strip()) < 2 or token in ("<s>", "</s>", "<unk>") or token.startswith("<0x"):
            continue
        if split(text.removeprefix(" ")) != [" " + text.removeprefix(" ")]:
            cut.append(token)
    assert cut == []


@pytest.mark.parametrize("text", TEXTS)
def test_pieces_give_the_tokenizers_own_ids(tokenizer: Tokenizer, pieces: PieceTokenizer, text: str) -> None:
    assert pieces.encode([text])[0].tolist() == own_ids(tokenizer, text)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(st.characters(codec="utf-8")),
        st.text(
            st.sampled_from("ab Zé²_-.,;:!?()[]{}<>|/\\'\"`~@#$%^&*+=0123 \n\t\r\u2581日本п́"), max_size=60
        ),
    )
)
def test_any_text_gives_the_tokenizers_own_ids(
    tokenizer: Tokenizer, pieces: PieceTokenizer, text: str
) -> None:
    if any(control in text for control in ("<s>", "</s>", "<unk>")):
        return  # words of the text here, control tokens there
    assert pieces.encode([text])[0].tolist() == own_ids(tokenizer, text)


def test_control_tokens_in_a_text_are_read_as_its_words(pieces: PieceTokenizer) -> None:
    ids = pieces.encode(["<s>struck</s> <unk>"])[0].tolist()
    assert not {0, 1, 2} & set(ids)


def test_a_full_cache_changes_no_result(tokenizer: Tokenizer) -> None:
    small = PieceTokenizer(Tokenizer.from_file(str(library_folder() / TOKENIZER)), room=30)
    for _ in range(2):
        for text in TEXTS:
            assert small.encode([text, TEXTS[0]])[0].tolist() == own_ids(tokenizer, text)


def test_blank_text_has_tokens_but_no_text_has_none() -> None:
    vectors = WordLlamaEmbedder().embed(["   ", ""])
    assert vectors[0].any()
    assert not vectors[1].any()


def test_token_ids_are_distinct_and_sorted_for_late_interaction() -> None:
    embedder = WordLlamaEmbedder()
    assert isinstance(embedder, TokenEmbedder)
    many = ["to be or not to be", "", *(f"line {number}" for number in range(600))]
    ids = embedder.token_ids(many)
    assert len(ids) == 602
    assert all(own.dtype.name == "uint16" for own in ids)
    assert ids[0].tolist() == sorted(set(ids[0].tolist()))
    assert ids[0].size == 4
    assert ids[1].size == 0
    assert ids[601].tolist() == embedder.token_ids(["line 599"])[0].tolist()


def test_token_vectors_are_the_table_cut_and_scaled() -> None:
    embedder = WordLlamaEmbedder()
    table = embedder.token_vectors(128)
    assert table.shape == (32_000, 128)
    assert table.dtype.name == "float32"
    lengths = np.linalg.norm(table, axis=1)
    assert np.all((np.abs(lengths - 1) < 1e-4) | (lengths == 0))
    (ids,) = embedder.token_ids(["valve"])
    whole = embedder.token_vectors(256)[ids].astype(np.float64)
    assert ids.size == 2
    assert np.abs(np.linalg.norm(whole, axis=1) - 1).max() < 1e-4
    for dimensions in (0, -1, 257):
        with pytest.raises(ValueError, match="256"):
            embedder.token_vectors(dimensions)


def test_making_one_loads_neither_the_library_nor_the_tokenizer() -> None:
    code = (
        "import sys; from wikimcp.embedders.wordllama import WordLlamaEmbedder as W; e = W(); e.name\n"
        "print([m for m in ('wordllama', 'tokenizers', 'safetensors') if m in sys.modules])\n"
        "e.embed(['text'])\n"
        "print([m for m in ('wordllama', 'safetensors', 'requests', 'torch') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "[]"]
    assert done.stderr == ""


def test_without_the_wheel_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wordllama", None)
    with pytest.raises(Unavailable, match="pip install wordllama"):
        WordLlamaEmbedder()


@pytest.mark.parametrize("damaged", [WEIGHTS, TOKENIZER])
@pytest.mark.parametrize(
    "content", [b"", b"\x05", b"{}", b"\x10\0\0\0\0\0\0\0{'not json'}    ", b"\xff" * 4000]
)
def test_damaged_files_say_to_install_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: Path, content: bytes
) -> None:
    package = tmp_path / "wordllama"
    for name in (WEIGHTS, TOKENIZER):
        (package / name).parent.mkdir(parents=True)
        (package / name).symlink_to(library_folder() / name)
    (package / "__init__.py").touch()
    (package / damaged).unlink()
    (package / damaged).write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "wordllama", raising=False)
    embedder = WordLlamaEmbedder()
    for _ in range(2):
        with pytest.raises(Unavailable, match="force-reinstall"):
            embedder.embed(["text"])
    with pytest.raises(Unavailable, match="force-reinstall"):
        embedder.token_ids(["text"])
