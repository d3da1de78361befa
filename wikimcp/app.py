"""The composition root: settings become parts, parts become a service, a service gets its edge."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from wikimcp.citations.anchors import SourceRoots
from wikimcp.dense.selection import build_dense
from wikimcp.embedders.resolve import plan_embedders
from wikimcp.index.embedding import EmbedderVectors
from wikimcp.index.history import GitHistory
from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.state import StateDir
from wikimcp.index.store import IndexStore
from wikimcp.index.triples import WikiTriples
from wikimcp.markdown.links import PAGE_SUFFIXES
from wikimcp.models import Caller
from wikimcp.ports import DenseIndex, LexicalIndex, TripleLimits, TripleStore, VaultAdapter, Vectors
from wikimcp.service import ServiceOptions, WikiService
from wikimcp.settings import Settings, child_environment, load_settings
from wikimcp.tools.contract import BriefingSettings, CoverageSettings
from wikimcp.triples.selection import open_triples
from wikimcp.vaults.detect import VaultOptions, detect
from wikimcp.vaults.globs import compile_globs

if TYPE_CHECKING:
    from wikimcp.authoring.lint import LintOptions
    from wikimcp.authoring.lint_report import LintReport
    from wikimcp.authoring.workspace import Workspace
    from wikimcp.authoring_tools.wiki_index import WikiIndex
    from wikimcp.embedders.resolve import EmbedderPlan
    from wikimcp.guide.specs import ToolExtension


@dataclass(frozen=True, slots=True)
class AuthoringSetup:
    """What the authoring profile works on: a workspace, and the settings its wiki is read by."""

    workspace: Workspace
    wiki: Settings


def build_service(
    settings: Settings, *, background: bool = True, extension: ToolExtension | None = None
) -> WikiService:
    """Compose the service of one vault, with the tools of an ``extension`` beside its own.

    With ``background`` its threads are started; without, ``wait_ready`` does the work in the
    caller's thread. Raises VaultError, SettingsError or StateError with what to do next.
    """
    adapter = open_vault(settings)
    state = StateDir.open(settings.state_dir)
    plan = plan_embedders(settings.embedder, models_dir=settings.models.dir, model=settings.models.name)
    store = IndexStore(
        adapter=adapter,
        state=state,
        open_lexical=open_lexical,
        fingerprint=fingerprint(settings, adapter),
        keep_hidden=settings.drafts.allow,
        sources=source_roots(settings),
        history=GitHistory(state.root, Path(adapter.source_root), child_environment(), slug=adapter.slug),
    )

    def dense(matrix: Vectors) -> DenseIndex:
        return build_dense(matrix, hnsw_threshold=settings.dense.hnsw_threshold)

    keeper = IndexKeeper(
        store,
        floor=EmbedderVectors(plan.floor, state, dense) if plan.floor else None,
        better=EmbedderVectors(plan.better, state, dense) if plan.better else None,
        watch=settings.watch and background,
        wait_seconds=settings.start.wait_seconds,
    )
    triples = open_triple_store(settings)
    options = service_options(settings, plan, no_triples=triples if isinstance(triples, str) else "")
    service = WikiService(
        keeper,
        options,
        triples=None if isinstance(triples, str) else WikiTriples(triples),
        extension=extension,
    )
    if background:
        service.start()
    return service


def open_vault(settings: Settings) -> VaultAdapter:
    """Detect the vault's dialect and return its adapter."""
    options = VaultOptions(
        adapter=settings.adapter,
        ignore=settings.ignore,
        private=settings.private,
        file_cap_bytes=settings.file_cap_bytes,
        trusted_links=settings.trusted_links,
    )
    return detect(settings.vault, options)


def open_lexical(folder: Path) -> LexicalIndex:
    """Open or make the lexical index in a folder."""
    from wikimcp.lexical.tantivy import TantivyIndex

    return TantivyIndex(folder)


def open_triple_store(settings: Settings) -> TripleStore | str:
    """Return the store behind SPARQL, whose worker starts at the first query, or why there is none."""
    limits = TripleLimits(seconds=settings.sparql.seconds, memory_bytes=settings.sparql.memory_mb << 20)
    return open_triples(limits)


def fingerprint(settings: Settings, adapter: VaultAdapter) -> dict[str, str]:
    """Return everything that shapes the index: another value means another index."""
    globs = "\0".join(
        ["ignore", *settings.ignore, "private", *settings.private, "links", *settings.trusted_links]
    )
    return {
        "adapter": adapter.name,
        "source_root": str(adapter.source_root),
        "dialect": adapter.dialect_settings,
        "globs": hashlib.sha256(globs.encode()).hexdigest()[:16],
        "file_cap_bytes": str(settings.file_cap_bytes),
        "drafts": str(settings.drafts.allow),
        **({"source_roots": "\0".join(roots)} if (roots := settings.citations.source_roots) else {}),
    }


def source_roots(settings: Settings) -> SourceRoots | None:
    """Return the folders of source anchors; None when none are set.

    Of the vault's own files only those are read that are no pages and that no private glob withholds.
    """
    if not settings.citations.source_roots:
        return None
    vault, private = settings.vault.resolve(), compile_globs(settings.private)

    def hidden(file: Path) -> bool:
        if file.suffix.lower() in (*PAGE_SUFFIXES, ".org"):
            return file.is_relative_to(vault)
        return bool(
            private and file.is_relative_to(vault) and private.match(file.relative_to(vault).as_posix())
        )

    roots = [settings.vault / Path(root).expanduser() for root in settings.citations.source_roots]
    return SourceRoots(roots, hidden=hidden)


def service_options(settings: Settings, plan: EmbedderPlan, *, no_triples: str = "") -> ServiceOptions:
    """Return what the operator set that shapes answers; ``no_triples`` says why there is no triple store."""
    reasons = {"embedder": "; ".join(plan.notes), "triples": no_triples}
    return ServiceOptions(
        answer_tokens=settings.answer_tokens,
        allow_drafts=settings.drafts.allow,
        allow_file_urls=settings.urls.file,
        sources=source_roots(settings),
        graph=settings.graph.enabled,
        coverage=CoverageSettings(
            strong_similarity=settings.coverage.strong_similarity,
            partial_similarity=settings.coverage.partial_similarity,
            lexical_lift=settings.coverage.lexical_lift,
        ),
        briefing=BriefingSettings(prompt_share=settings.briefing.prompt_share, hot=settings.briefing.hot),
        notes=() if plan.satisfied else plan.notes,
        reasons={backend: reason for backend, reason in reasons.items() if reason},
        facts={
            "embedder": plan.floor.name if plan.floor else "none",
            **({"better_embedder": plan.better.name} if plan.better else {}),
            "embedder_notes": list(plan.notes),
        },
    )


def open_wiki_index(setup: AuthoringSetup) -> WikiIndex:
    """Return the index of a compiled wiki, which is opened when first asked."""
    from wikimcp.authoring_tools.wiki_index import WikiIndex

    return WikiIndex(lambda: build_service(setup.wiki, background=False), setup.workspace)


def lint_wiki(workspace: Workspace, options: LintOptions | None = None) -> LintReport:
    """Check a compiled wiki, as `wikimcp lint` does. Raises WikimcpError."""
    from wikimcp.authoring.lint import lint_wiki as run

    with _index_of(workspace) as index:
        return run(workspace, index.examine, options)


def verify_citations(workspace: Workspace, citations: tuple[str, ...]) -> Mapping[str, str]:
    """Return the status of each citation of a compiled wiki's pages. Raises WikimcpError."""
    with _index_of(workspace) as index:
        return index.verify(citations)


@contextmanager
def _index_of(workspace: Workspace) -> Iterator[WikiIndex]:
    """Yield the index of a compiled wiki for a block, without vectors."""
    workspace.require_wiki()
    wiki = {"vault": str(workspace.wiki_root), "adapter": "llmwiki", "drafts.allow": True, "embedder": "none"}
    index = open_wiki_index(AuthoringSetup(workspace, load_settings(wiki)))
    try:
        yield index
    finally:
        index.close()


def build_authoring_service(settings: Settings, setup: AuthoringSetup, *, file_links: bool) -> WikiService:
    """Compose the service of a vault with the authoring profile beside it.

    ``file_links``: answers may hold ``file://`` addresses, as the client is on this machine.
    """
    from wikimcp.authoring_tools.contract import AuthoringContext
    from wikimcp.authoring_tools.profile import AuthoringProfile

    index = open_wiki_index(setup)
    context = AuthoringContext(
        workspace=setup.workspace,
        search=index.search,
        verify=index.verify,
        examine=index.examine,
        file_links=file_links or settings.urls.file,
        allow_fetch=settings.authoring.allow_fetch,
        remembers=not settings.authoring.raw_roots,
        cap_tokens=settings.answer_tokens,
    )
    profile = AuthoringProfile(context, on_close=index.close)
    service = build_service(settings, extension=profile)
    if settings.vault != setup.wiki.vault:
        index.add_vault(service)
    return service


def _composed(settings: Settings, authoring: AuthoringSetup | None, *, file_links: bool) -> WikiService:
    if authoring is None:
        return build_service(settings)
    return build_authoring_service(settings, authoring, file_links=file_links)


def serve(
    settings: Settings, *, http: tuple[str, int] | None, authoring: AuthoringSetup | None = None
) -> int:
    """Serve one vault until the client leaves or a signal comes; returns the exit code.

    With ``authoring`` the client over stdio is an author; over HTTP it is who has a key with that scope.
    """
    drafts = settings.drafts.allow
    if http is None:
        from wikimcp.edges.stdio import claim_stdout, serve_stdio

        wire = claim_stdout()
        service = _composed(settings, authoring, file_links=True)
        scopes = Caller().scopes | ({"author"} if authoring is not None else frozenset())
        caller = Caller(name="stdio", may_see_drafts=drafts, scopes=scopes)
        return serve_stdio(service, wire, caller=caller, log_level=settings.log_level)
    from wikimcp.access.key_file import KeyFile
    from wikimcp.edges.http import HttpOptions, serve_http
    from wikimcp.edges.rate_limits import RateLimits

    host, port = http
    wanted = settings.http
    options = HttpOptions(
        allowed_hosts=wanted.allowed_hosts,
        cors_origins=wanted.cors_origins,
        limits=RateLimits(wanted.rate_per_minute, burst=wanted.rate_burst),
        time_limit=wanted.time_limit,
        max_connections=wanted.max_connections,
        a2a=wanted.agent_to_agent,
    )
    return serve_http(
        _composed(settings, authoring, file_links=False),
        host=host,
        port=port,
        caller=Caller(name="http", may_see_drafts=drafts),
        keys=KeyFile(wanted.keys_file),
        allow_anonymous=wanted.allow_anonymous,
        options=options,
        log_level=settings.log_level,
    )
