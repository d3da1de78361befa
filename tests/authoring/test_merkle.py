"""The Merkle tree: equal content, equal hash; a comparison finds what changed and looks nowhere else."""

from __future__ import annotations

import random
from hashlib import sha256

from wikimcp.authoring.merkle import EMPTY_SHA256, FileNode, Stamp, Tree, compare


def _file(text: str) -> FileNode:
    return FileNode(sha256(text.encode()).hexdigest(), len(text))


def _tree(**files: str) -> Tree:
    return Tree.of({path.replace("__", "/"): _file(text) for path, text in files.items()})


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
    one = Tree.of({"a": _file("1"), "b": _file("2")})
    joined = Tree.of({f"a\nfile {_file('2').sha256} b": _file("1")})
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
    assert _file("").sha256 == EMPTY_SHA256
    assert (diff.added, diff.deleted, diff.moved) == (("b/init",), ("a/init",), ())


def test_only_folders_that_differ_are_looked_into() -> None:
    files = {f"d{i}/e{j}/f{k}": _file(f"{i}{j}{k}") for i in range(10) for j in range(10) for k in range(3)}
    old = Tree.of(files)
    new = Tree.of({**files, "d3/e4/f0": _file("changed")})
    diff = compare(old, new)
    assert diff.modified == ("d3/e4/f0",)
    assert diff.compared == 3, "the root, d3 and d3/e4, of 111 folders"
    assert compare(old, Tree.of(files)).compared == 0


def test_a_file_in_the_place_of_a_folder_is_no_riddle() -> None:
    diff = compare(_tree(a__b="1", c="2"), _tree(a="3", c__d="4"))
    assert (diff.added, diff.deleted) == (("a", "c/d"), ("a/b", "c"))


def test_random_trees_are_compared_as_a_plain_comparison_of_their_files_does() -> None:
    chance = random.Random(11)
    paths = [f"{a}/{b}/{c}" for a in "xyz" for b in "pq" for c in "mn"] + list("uvw")
    for _ in range(300):
        before = {path: _file(chance.choice("1234")) for path in paths if chance.random() < 0.6}
        after = {path: _file(chance.choice("1234")) for path in paths if chance.random() < 0.6}
        diff = compare(Tree.of(before), Tree.of(after))
        moved_from, moved_to = {old for old, _ in diff.moved}, {new for _, new in diff.moved}
        assert {*diff.added} | moved_to == after.keys() - before.keys()
        assert {*diff.deleted} | moved_from == before.keys() - after.keys()
        both = before.keys() & after.keys()
        assert {*diff.modified} == {path for path in both if before[path] != after[path]}
        assert all(before[old].sha256 == after[new].sha256 for old, new in diff.moved)
        left = {before[path].sha256 for path in diff.deleted} & {after[path].sha256 for path in diff.added}
        assert not left, "what could be a move is one"


def test_a_file_is_at_rest_when_its_next_change_must_show_on_the_clock() -> None:
    second = 1_000_000_000
    fine = Stamp(1, 100 * second + 7, 100 * second + 7, 1)
    assert not fine.at_rest(100 * second + 10_000_000)
    assert fine.at_rest(100 * second + 100_000_000)
    coarse = Stamp(1, 100 * second, 100 * second, 1)
    assert not coarse.at_rest(101 * second)
    assert coarse.at_rest(103 * second)
    restored = Stamp(1, 5 * second, 100 * second + 7, 1)
    assert not restored.at_rest(100 * second + 10_000_000), "its content came later than its time says"
