"""The Merkle tree: equal content, equal hash; a comparison finds what changed and looks nowhere else."""

from __future__ import annotations

import random
from collections.abc import Mapping
from hashlib import sha256

from wikimcp.authoring.merkle import EMPTY_SHA256, Tree, compare


def _file(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _tree_of(files: Mapping[str, str], *, like: Tree | None = None) -> Tree:
    held: dict[str, dict[str, str]] = {}
    for path, digest in files.items():
        folder, _, name = path.rpartition("/")
        held.setdefault(folder, {})[name] = digest
    return Tree.of(held, like=like)


def _tree(**files: str) -> Tree:
    return _tree_of({path.replace("__", "/"): _file(text) for path, text in files.items()})


def test_trees_of_the_same_content_have_one_hash_and_any_change_gives_another() -> None:
    tree = _tree(a__b__c="1", a__d="2", e="3")
    assert tree.sha256 == _tree(e="3", a__d="2", a__b__c="1").sha256
    others = [
        _tree(a__b__c="x", a__d="2", e="3"),
        _tree(a__b__c="1", a__d="2"),
        _tree(a__b__x="1", a__d="2", e="3"),
        _tree(a__c="1", a__d="2", e="3"),
        _tree(a__b__c="1", a__d="3", e="2"),
    ]
    assert len({tree.sha256, *(other.sha256 for other in others)}) == 6


def test_the_hash_of_a_folder_is_of_its_content_alone_wherever_it_lies() -> None:
    tree = _tree(x__in__f="1", y__in__f="1", z__in__f="2")
    assert tree.folders["x/in"].sha256 == tree.folders["y/in"].sha256 != tree.folders["z/in"].sha256


def test_names_cannot_be_mistaken_for_other_entries() -> None:
    one = _tree_of({"a": _file("1"), "b": _file("2")})
    joined = _tree_of({f"a\nfile {_file('2')} b": _file("1")})
    assert one.sha256 != joined.sha256


def test_a_tree_without_a_file_is_empty() -> None:
    assert Tree.of({}).sha256 == ""
    assert not compare(Tree(), Tree.of({}))


def test_added_modified_deleted_and_moved_files_are_told_apart() -> None:
    old = _tree(keep="k", edit="1", gone="g", old__name="content", gap__x="x")
    new = _tree(keep="k", edit="2", fresh="f", new__name="content", gap__x="x")
    diff = compare(old, new)
    assert (diff.added, diff.modified, diff.deleted) == (("fresh",), ("edit",), ("gone",))
    assert diff.moved == (("old/name", "new/name"),)


def test_of_several_files_with_one_content_each_is_paired_once_by_name_where_that_fits() -> None:
    diff = compare(_tree(a__x="c", a__y="c", a__z="c"), _tree(b__y="c", b__w="c"))
    assert diff.moved == (("a/x", "b/w"), ("a/y", "b/y"))
    assert diff.deleted == ("a/z",)
    assert not diff.added


def test_an_empty_file_does_not_move() -> None:
    diff = compare(_tree(a__init="", x="1"), _tree(b__init="", x="1"))
    assert _file("") == EMPTY_SHA256
    assert (diff.added, diff.deleted, diff.moved) == (("b/init",), ("a/init",), ())


def test_only_folders_that_differ_are_looked_into() -> None:
    files = {f"d{i}/e{j}/f{k}": _file(f"{i}{j}{k}") for i in range(10) for j in range(10) for k in range(3)}
    old = _tree_of(files)
    new = _tree_of({**files, "d3/e4/f0": _file("changed")})
    diff = compare(old, new)
    assert diff.modified == ("d3/e4/f0",)
    assert diff.compared == 3, "the root, d3 and d3/e4, of 111 folders"
    assert compare(old, _tree_of(files)).compared == 0


def test_a_file_in_the_place_of_a_folder_is_no_riddle() -> None:
    diff = compare(_tree(a__b="1", c="2"), _tree(a="3", c__d="4"))
    assert (diff.added, diff.deleted) == (("a", "c/d"), ("a/b", "c"))


def test_random_trees_are_compared_as_a_plain_comparison_of_their_files_does() -> None:
    chance = random.Random(11)
    paths = [f"{a}/{b}/{c}" for a in "xyz" for b in "pq" for c in "mn"] + list("uvw")
    for _ in range(300):
        before = {path: _file(chance.choice("1234")) for path in paths if chance.random() < 0.6}
        after = {path: _file(chance.choice("1234")) for path in paths if chance.random() < 0.6}
        diff = compare(_tree_of(before), _tree_of(after))
        moved_from, moved_to = {old for old, _ in diff.moved}, {new for _, new in diff.moved}
        assert {*diff.added} | moved_to == after.keys() - before.keys()
        assert {*diff.deleted} | moved_from == before.keys() - after.keys()
        both = before.keys() & after.keys()
        assert {*diff.modified} == {path for path in both if before[path] != after[path]}
        assert all(before[old] == after[new] for old, new in diff.moved)
        left = {before[path] for path in diff.deleted} & {after[path] for path in diff.added}
        assert not left, "what could be a move is one"


def test_a_tree_made_with_another_for_help_is_the_same_tree() -> None:
    chance = random.Random(12)
    paths = [f"{a}/{b}/{c}" for a in "xyz" for b in "pq" for c in "mn"] + list("uvw")
    for _ in range(200):
        one = {path: _file(chance.choice("12")) for path in paths if chance.random() < 0.7}
        two = {path: _file(chance.choice("12")) for path in paths if chance.random() < 0.7}
        assert _tree_of(two, like=_tree_of(one)).folders == _tree_of(two).folders
    same = _tree_of(one)
    assert _tree_of(one, like=same).folders["x/p"] is same.folders["x/p"], "nothing was hashed again"
