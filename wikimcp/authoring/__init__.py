"""The authoring profile: the compiled wiki that agents keep, and the verbs that keep its books.

The functions here are the Python API. Each opens the workspace it is told, does what the command of
that name does, and returns its report; ``to_json()`` of a report is what ``--json`` prints. Two of them ask
`wikimcp.app` for an index, where the caller gives nothing else: only there parts are put together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from wikimcp.authoring.hot import HotReport
    from wikimcp.authoring.ingest import IngestReport
    from wikimcp.authoring.init import InitReport
    from wikimcp.authoring.insight import InsightReport
    from wikimcp.authoring.refresh_report import RefreshReport
    from wikimcp.authoring.sources import SourcesReport
    from wikimcp.authoring.workspace import Workspace

__all__ = [
    "ingest_source",
    "init_wiki",
    "lint_wiki",
    "record_insight",
    "refresh_wiki",
    "repoint_sources",
    "retire_sources",
    "update_hot",
]


class Report(Protocol):
    """What every verb returns."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, snake_case."""


def init_wiki(
    workspace_root: Path | str = ".",
    *,
    wiki_root: Path | str = ".wiki",
    raw_roots: Sequence[str] = (),
    profile: str = "auto",
    deploy_skills: bool = True,
    dry_run: bool = False,
) -> InitReport:
    """Scaffold the compiled wiki of a project, and its skills. Raises WikimcpError."""
    from wikimcp.authoring.init import init_wiki as run

    workspace = open_workspace(
        workspace_root, wiki_root=wiki_root, raw_roots=raw_roots, profile=profile, dry_run=dry_run
    )
    return run(workspace, deploy=deploy_skills)


def refresh_wiki(
    workspace_root: Path | str = ".",
    *,
    full: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> RefreshReport:
    """Bring the wiki in line with its sources; options as of ``open_workspace``. Raises WikimcpError."""
    from wikimcp.authoring.refresh import refresh_wiki as run

    return run(open_workspace(workspace_root, **options), full=full, progress=progress)


def lint_wiki(
    workspace_root: Path | str = ".",
    *,
    lint: Callable[[Workspace], Report] | None = None,
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> Report:
    """Check the wiki's health; options as of ``open_workspace``. Raises WikimcpError.

    ``lint`` stands for `wikimcp.app.lint_wiki`, which puts an index of the wiki together.
    """
    if lint is None:
        from wikimcp.app import lint_wiki as composed

        lint = composed
    return lint(open_workspace(workspace_root, **options))


def ingest_source(
    workspace_root: Path | str = ".",
    *,
    text: str | None = None,
    path: str | None = None,
    url: str | None = None,
    title: str = "",
    allow_fetch: bool = False,
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> IngestReport:
    """Stage one source, exactly one of text, path and url. Raises WikimcpError."""
    from wikimcp.authoring.ingest import ingest_source as run

    return run(
        open_workspace(workspace_root, **options),
        text=text,
        path=path,
        url=url,
        title=title,
        allow_fetch=allow_fetch,
    )


def record_insight(
    workspace_root: Path | str = ".",
    *,
    title: str,
    content: str,
    category: str = "concept",
    description: str = "",
    tags: Sequence[str] = (),
    evidence: Sequence[str] = (),
    content_hash: str | None = None,
    verify: Callable[[tuple[str, ...]], Mapping[str, str]] | None = None,
    by: str = "",
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> InsightReport:
    """Keep an insight as a proposed page. Raises WikimcpError.

    ``verify`` checks citations among the evidence; without it they are looked up in the wiki itself.
    """
    from wikimcp.authoring.insight import record_insight as run

    workspace = open_workspace(workspace_root, **options)

    def in_the_wiki(citations: tuple[str, ...]) -> Mapping[str, str]:
        from wikimcp.app import verify_citations

        return verify_citations(workspace, citations)

    return run(
        workspace,
        title=title,
        content=content,
        category=category,
        description=description,
        tags=tags,
        evidence=evidence,
        content_hash=content_hash,
        verify=verify or in_the_wiki,
        by=by,
    )


def update_hot(
    workspace_root: Path | str = ".",
    *,
    content: str,
    force: bool = False,
    content_hash: str | None = None,
    by: str = "",
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> HotReport:
    """Replace the page that a session reads first; with ``content_hash`` only as the caller read it.

    Raises WikimcpError.
    """
    from wikimcp.authoring.hot import update_hot as run

    workspace = open_workspace(workspace_root, **options)
    return run(workspace, content, force=force, content_hash=content_hash, by=by)


def retire_sources(
    workspace_root: Path | str = ".",
    *,
    paths: Sequence[str],
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> SourcesReport:
    """Carry sources that were deleted through manifest, pages, indexes and log. Raises WikimcpError."""
    from wikimcp.authoring.sources import retire_sources as run

    return run(open_workspace(workspace_root, **options), paths)


def repoint_sources(
    workspace_root: Path | str = ".",
    *,
    old: str,
    new: str,
    **options: Any,  # noqa: ANN401 - as open_workspace
) -> SourcesReport:
    """Carry a source that moved through manifest, pages, indexes and log. Raises WikimcpError."""
    from wikimcp.authoring.sources import repoint_sources as run

    return run(open_workspace(workspace_root, **options), old, new)


def open_workspace(
    workspace_root: Path | str = ".",
    *,
    wiki_root: Path | str = ".wiki",
    raw_roots: Sequence[str] = (),
    profile: str = "auto",
    dry_run: bool = False,
    allow_secrets: bool = False,
) -> Workspace:
    """Return a workspace; without ``raw_roots`` those that its wiki remembers, else the whole project."""
    from wikimcp.authoring.opening import remembered
    from wikimcp.authoring.workspace import Workspace

    opened = Workspace.open(
        workspace_root,
        wiki_root=wiki_root,
        raw_roots=raw_roots or (".",),
        profile=profile,
        dry_run=dry_run,
        allow_secrets=allow_secrets,
    )
    return opened if raw_roots else remembered(opened)
