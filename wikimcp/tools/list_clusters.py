"""list_clusters: the topic domains of the wiki."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from wikimcp.index.view import Cluster, Reading
from wikimcp.tools.contract import ListResult, Params, Tool, ToolContext, Wire
from wikimcp.tools.page_rows import Cursor, IncludeDrafts, one_line, open_list, page_of
from wikimcp.tools.rendering import plain, render_data


class ListClustersParams(Params):
    """How to list."""

    limit: Annotated[int, Field(ge=1, le=500, description="Clusters per answer")] = 200
    cursor: Cursor = ""
    include_drafts: IncludeDrafts = False


class ClusterRow(Wire):
    """One cluster: ``hub`` is a slug; ``page_count`` counts the pages of sub-clusters too."""

    name: str
    page_count: int
    hub: str | None = None
    parent: str | None = None
    updated_at: str | None = None


class ClusterList(ListResult):
    """A part of the list of clusters."""

    clusters: list[ClusterRow]

    cuttable: ClassVar[tuple[str, ...]] = ("clusters",)


def run(reading: Reading, params: ListClustersParams, context: ToolContext) -> ClusterList:
    """List the clusters by name."""
    at = open_list("list_clusters", params, reading)
    part, counts = page_of(list(reading.clusters.values()), at, params.limit)
    reading.touch([cluster.hub for cluster in part if cluster.hub])
    if not reading.clusters:
        context.note("this wiki has no clusters; list_tags and list_pages show what there is")
    return ClusterList(clusters=[_row(cluster) for cluster in part], **counts)


def _row(cluster: Cluster) -> ClusterRow:
    return ClusterRow(
        name=one_line(cluster.name, 500) or "",
        page_count=cluster.page_count,
        hub=plain(cluster.hub.slug) if cluster.hub else None,
        parent=one_line(cluster.parent, 500),
        updated_at=cluster.updated_at or None,
    )


TOOL = Tool(
    name="list_clusters",
    title="List clusters",
    description=(
        "The wiki's topic domains with hub page and page count: use it first to see what the wiki covers "
        "and which names the cluster filters take."
    ),
    params=ListClustersParams,
    result=ClusterList,
    run=run,
    render=render_data,
)
