"""The composition root: settings become parts, parts become a service, a service gets its edge."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from wikimcp.dense.selection import build_dense
from wikimcp.embedders.resolve import plan_embedders
from wikimcp.index.embedding import EmbedderVectors
from wikimcp.index.keeper import IndexKeeper
from wikimcp.index.state import StateDir
from wikimcp.index.store import IndexStore
from wikimcp.models import Caller
from wikimcp.ports import DenseIndex, LexicalIndex, VaultAdapter, Vectors
from wikimcp.service import ServiceOptions, WikiService
from wikimcp.settings import Settings
from wikimcp.tools.contract import CoverageSettings
from wikimcp.vaults.detect import VaultOptions, detect

if TYPE_CHECKING:
    from wikimcp.embedders.resolve import EmbedderPlan


def build_service(settings: Settings, *, background: bool = True) -> WikiService:
    """Compose the service of one vault.

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
    service = WikiService(keeper, service_options(settings, plan))
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
    }


def service_options(settings: Settings, plan: EmbedderPlan) -> ServiceOptions:
    """Return what the operator set that shapes answers."""
    return ServiceOptions(
        answer_tokens=settings.answer_tokens,
        allow_drafts=settings.drafts.allow,
        allow_file_urls=settings.urls.file,
        coverage=CoverageSettings(
            strong_similarity=settings.coverage.strong_similarity,
            partial_similarity=settings.coverage.partial_similarity,
            lexical_lift=settings.coverage.lexical_lift,
        ),
        notes=() if plan.satisfied else plan.notes,
        reasons={"embedder": "; ".join(plan.notes)} if plan.notes else {},
        facts={
            "embedder": plan.floor.name if plan.floor else "none",
            **({"better_embedder": plan.better.name} if plan.better else {}),
            "embedder_notes": list(plan.notes),
        },
    )


def serve(settings: Settings, *, http: tuple[str, int] | None) -> int:
    """Serve one vault until the client leaves or a signal comes; returns the exit code."""
    drafts = settings.drafts.allow
    if http is None:
        from wikimcp.edges.stdio import claim_stdout, serve_stdio

        wire = claim_stdout()
        service = build_service(settings)
        caller = Caller(name="stdio", may_see_drafts=drafts)
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
        a2a=wanted.agent_to_agent,
    )
    return serve_http(
        build_service(settings),
        host=host,
        port=port,
        caller=Caller(name="http", may_see_drafts=drafts),
        keys=KeyFile(wanted.keys_file),
        allow_anonymous=wanted.allow_anonymous,
        options=options,
        log_level=settings.log_level,
    )
