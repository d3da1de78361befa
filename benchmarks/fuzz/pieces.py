"""Pieces of markdown and frontmatter that are hard to read, and file names that are hard to name pages by.

What is made of them is the matter of ``mutating``.
"""

from __future__ import annotations

BLOCKS = (
    *("# ", "## Title", "###### deep", "####### seven", "#", "===", "---", "***", "___", "- - -", "# [[A]] #"),
    *("- ", "* ", "+ ", "1. ", "999999999. ", "- [ ] task", "- [x] done", "> ", ">> ", "> [!note]- folded"),
    *("> [!danger] **Title** [[X]]", "    indented", "\tindented", "```", "```` python", "~~~", "```mermaid"),
    *("```\n[[not a link]] #no\n```", "~~~~\n# no heading\n~~~~", "| a | b |\n|---|---|", "| [[x\\|y]] | |"),
    *("|:-:|", "||||", "$$", "$$\n[[m]]\n$$", "%%", "%% hidden [[h]] %%", "<!--", "-->", "<!-- [[c]] -->"),
    *("<div>", "</div>", "<pre>", "</pre>", "<script>", "<details><summary>s</summary>", "<![CDATA[", "]]>"),
    *("[x]: y", "[x]: <a b> 'title'", "[^1]: note", ": definition", "Term\n: is", "{{< figure >}}", "{{<"),
    *("{% include x %}", "{{embed [[X]]}}", "{{query (and)}}", "key:: value", "id:: 5f0c0000-0000-4000-8000-"),
    *("collapsed:: true", "title:: a/b", "tags:: one, [[two words]]", "public:: false", "draft:: yes"),
    *("#+TITLE: org", "* TODO heading :tag:", "** [#A] deeper", ":PROPERTIES:\n:ID: x\n:END:", ":END:"),
    *("#+BEGIN_SRC", "#+END_SRC", "#+begin_quote", "[[file:x.org][label]]", "#+FILETAGS: :a:b:", "| org |\n|---+"),
    *("+++\ntitle = 'x'\n+++", ";;;", '{"draft": true}', "---\nsecond: block\n---", "...", "^block-id", "\\"),
)
SPANS = (
    *("[[", "]]", "[[a]]", "![[a.png|100x200]]", "[[a#b#c|d]]", "[[#^id]]", "[[|]]", "[[ ]]", "[[a\\|b]]", "[["),
    *("[a](b.md)", "[a](<b c.md>)", "![i](i.png)", "[a](b 'c')", "](", "[a][b]", "[a][]", "[", "!", "(", ")"),
    *("[[[[a]]]]", "[[a]](b)", "[[[a](b)]]", "[a]([[b]])", "((5f0c0000-0000-4000-8000-000000000001))", "(("),
    *("<https://a.b>", "<a@b.c>", "http://x.y", "[m](mailto:a@b)", "[c](cite:x)", "[f](file:a.py#L3)", "[%](%)"),
    *("[p](%E2%28%A1.md)", "[z](%00)", "[u](a%2e%2e%2fb)", "[q](a.md?b#c)", "[s](//host/x)", "[d](../../../x)"),
    *("#tag", "#a/b/", "#12", "##", "#[[two words]]", "#\u00e9", "#\U0001f98a", "`", "``", "`[[c]]`", "$", "$x$"),
    *("**", "__", "~~", "==mark==", "*", "_", "&amp;", "&#0;", "&#xD800;", "&#x110000;", "&nbsp;", "&lbrace;"),
    *("<b>", "</b>", "<a href='x'>", "<!---->", "{#id .c}", "{%", "%}", "}}", "[{ALLOW view A}]", "[{DENY view B}]"),
    *("[^1]", "^[inline]", "a::b", "[k:: v]", "(k:: [[v]])", "k:: ", "word ", "a. ", " ", "  \n", "\n\n", "\t"),
)
CHARACTERS = (
    *("\0", "\ufeff", "\u2028", "\u2029", "\u0085", "\u00a0", "\u200b", "\u200e", "\u202e", "\u2066", "\u2069"),
    *("\r", "\r\n", "\f", "\v", "\x1b[31m", "\x07", "\x1c", "\x1f", "\x7f", "\ufffd", "\uffff", "\U0010ffff"),
    *("e\u0301", "\u00e9", "\u0130", "\ufb01", "\u1e9e", "\u0345", "\U0001f468\u200d\U0001f469", "\U0001f1e9"),
    *("\u05d0\u05d1", "\u0627\u0644", "\u0e01\u0e33", "\u65e5\u672c\u8a9e\u3002", "\uac00", "\u1112\u1161", "\uff03"),
    *("\uff1a", "\u3010", "\u2019", "\u2014", "\u00ad", "\U000e0001", "\ue000", "\u0600", "\u115f", "\u3164"),
)
BAD_BYTES = (
    *(b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xc0\x80", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xf8\x88\x80\x80\x80"),
    *(b"\xe2\x82", b"\x80", b"\xc3", b"\xf4\x90\x80\x80", b"\x00\x00\x00", b"\x93quoted\x94", b"caf\xe9 ", b"\x81"),
)
FRONT = (
    *("title: a: b", "title: '", 'title: "', "title: |", "title: >-\n  folded\n  text", "title: [a, b]", "title:"),
    *("title: {a: b}", 'title: "\\uD800"', 'title: "\\x00\\e[31m"', 'title: "\\U0010FFFF"', "title: 007", "? x"),
    *("title: &t [*t]", "title: *t", "<<: *base", "<<: {a: b}", "<<: [1]", "base: &base {draft: true}", "- item"),
    *("tags: [a, 'b', 3, null, true]", "tags: #x", "tags: a, b;c", "tags:\n- a\n  - b", "tags: [[x]]", "tags: ["),
    *("aliases: [[A]], [[B]]", "aliases: {a: 1}", "alias: 2031-02-03", "cluster: [a/b, /c/]", "clusters: 12"),
    *("related: ['[[X]]', [[Y]], {a: '[[Z]]'}]", "relations: [{type: a, target: '[[B]]'}, 3]", "relations: {a: [b]}"),
    *("date: 2031-02-30", "date: 2031-02-03T25:61:00Z", "created: 1e400", "updated: .nan", "updated: -.inf"),
    *("updated: 1893456000000", "created: 99999999999999", "updated_at: 0", "version: 0o17", "version: 0x1F"),
    *("version: 1_000", "version: 99999999999999999999", "version: -1", "version: 3.0", "n: 190:20:30", "n: 0b1"),
    *("id: 017", "id: true", "id: [a]", "id: ''", "canonical_id: \u00e9", "id: 1e3", "object_id: .inf"),
    *("draft: true", "draft: 'yes'", "publish: false", "status: draft", "visibility: [a, b]", "public: on", "state:"),
    *("b: !!binary gIGC", "s: !!set {a, b}", "o: !!omap [a: 1]", "p: !!python/object:os.system x", "x: !foo bar"),
    *("t: !!timestamp x", "i: !!int x", "f: !!float z", "n: !!null x", "%YAML 1.1", "--- ", "# comment", "@bad"),
    *("\tindented: x", "  odd: x", "[1, 2]: key", "{a: b}: key", "'': empty", "null: key", "1: one", "true: key"),
    *("~: tilde", "\u00e9: accent", "k\u200bey: zero", "a: b: c", "'k': 'v''s'", "k: 'a'b", "k: `x`", "k: %x", "k: |\n x"),
    *("summary: |\n  a\n\n  b", "description: >\n\n  x", "generated: {at: 5}", "generated.at: 7", "audience: x;y"),
    *("author: [{name: x}]", "sources: [a.md, 'b']", "type: 3", "status: [a]", "k: [a, [b, [c]]]", "k: {}", "k: - x"),
)
NAMES = (
    *("p", "a.b.c", "Area___Valve", "100%25", "%ZZ", "%E2%28%A1", "a%2Fb", "2031_02_03", "2031-13-45", "index", "hot"),
    *("\u00e9t\u00e9", "e\u0301te\u0301", "\U0001f98a", "no\u202etxt", "a b", "-x", "x.sync-conflict-1", "p (conflicted copy)"),
    *("bad\udcff", "___", "%2F", "a#b", "a^b", "[x]", "x|y", "tab\tname", "A" * 120, "con", "p.md", "\u212b"),
)
