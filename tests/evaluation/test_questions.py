"""The questions file: rows become questions, and what is wrong is named with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from wikimcp.errors import BadArgument
from wikimcp.evaluation.questions import Gold, Question, read_questions

HEAD = "id,category,question,gold_canonical_id,gold_heading_path\n"


def _file(folder: Path, text: str | bytes) -> Path:
    file = folder / "questions.csv"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_rows_of_one_id_are_one_question_with_several_right_sections(tmp_path: Path) -> None:
    text = (
        "\ufeff" + HEAD + "r-1,relational,a or b?,P1,A > B\n"
        'k-1,KEYWORD,"a, quoted\nover two lines",P2,\n'
        "r-1,RELATIONAL,a or b?,P2,C\n"
        "nf-1,NEGATIVE,knitting,,\n"
        "nn-2,NEGATIVE,almost,,\n"
        "z,NEGATIVE,unsaid,,\n"
    )
    assert read_questions(_file(tmp_path, text)) == [
        Question("r-1", "RELATIONAL", "a or b?", "", (Gold("P1", "A > B", 2), Gold("P2", "C", 5))),
        Question("k-1", "KEYWORD", "a, quoted\nover two lines", "", (Gold("P2", "", 3),)),
        Question("nf-1", "NEGATIVE", "knitting", "far", ()),
        Question("nn-2", "NEGATIVE", "almost", "near", ()),
        Question("z", "NEGATIVE", "unsaid", "", ()),
    ]


def test_a_kind_column_wins_over_the_id(tmp_path: Path) -> None:
    text = HEAD.strip() + ",kind\nnf-1,NEGATIVE,x,,,near\nq,NEGATIVE,y,,,far\n"
    assert [question.kind for question in read_questions(_file(tmp_path, text))] == ["near", "far"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1 lacks the column id, category"),
        ("id,category,question\n", "line 1 lacks the column gold_canonical_id, gold_heading_path"),
        (HEAD, "holds no questions"),
        (HEAD + "a,KEYWORD,x,P,\n,KEYWORD,y,P,\n", "line 3: no id"),
        (HEAD + "a,,x,P,\n", "line 2: no category"),
        (HEAD + "a,KEYWORD, ,P,\n", "line 2: no question"),
        (HEAD + "a,KEYWORD,x,,\n", "line 2: no gold_canonical_id"),
        (HEAD + "a,KEYWORD,x,,H\n", "line 2: no gold_canonical_id"),
        (HEAD + "a,NEGATIVE,x,P,\n", "line 2: a NEGATIVE question with a right section"),
        (HEAD + "a,KEYWORD,x,P,H,more\n", "line 2: more fields than columns"),
        (HEAD + "a,KEYWORD,x,P,H\na,KEYWORD,z,P,H\n", "line 3: the id a already stands for another question"),
        (HEAD + "a,NEGATIVE,x,,\na,NEGATIVE,x,,\n", "line 3: the id a is there twice"),
        (HEAD.strip() + ",kind\na,NEGATIVE,x,,,fra\n", "line 2: kind is 'fra', not far or near"),
        (HEAD + 'a,KEYWORD,"x\ny",P,\n,K,x,P,\n', "line 4: no id"),
        (HEAD + 'a,KEYWORD,"x"y,P,\n', "line 2 is not CSV"),
        (HEAD + ",K,x,P,\n" * 7, "(and 2 more)"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(BadArgument) as caught:
        read_questions(_file(tmp_path, text))
    assert message in caught.value.message
    assert caught.value.message.startswith("questions.csv ")
    assert str(tmp_path) not in caught.value.message


def test_files_that_cannot_be_read_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="is not UTF-8"):
        read_questions(_file(tmp_path, b"id\xff\n"))
    with pytest.raises(BadArgument, match="cannot be read"):
        read_questions(tmp_path)
