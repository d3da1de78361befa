"""The REST routes against their own OpenAPI document: generated requests to a real server, no failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.edges.processes import HttpServer
from tests.edges.wiki_server import WikiFolder, get
from wikimcp.edges.rest_routes import RestRoutes

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

EXAMPLES = 20
OPERATIONS = [
    *(("GET", path) for path in ("/api/bundle", "/api/manifest", "/api/pages", "/api/pages/{slug}")),
    *(("GET", path) for path in ("/api/source-refs", "/api/briefing", "/api/graph")),
    ("GET", "/api/graph/neighborhood"),
    *(("POST", path) for path in ("/api/bundle", "/api/briefing")),
]
TAKE_NOTHING = ("/api/manifest", "/api/graph")
# The contract takes loose forms as meant and clamps numbers, so that such requests are answered.
LOOSE = [schemathesis.checks.negative_data_rejection]
# What the schema allows may still be no date, no cursor of ours, or blank: 422 says so.
REFUSED = ["2xx", "404", "409", "422"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    with WikiFolder(tmp_path_factory.mktemp("openapi")).served("--set", "http.rate_per_minute=0") as running:
        yield running


CASES = [
    (method, path, mode)
    for method, path in OPERATIONS
    for mode in ("positive", "negative")
    if not (path in TAKE_NOTHING and mode == "negative")  # nothing could be wrong
]


@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_generated_requests_get_what_the_document_says(
    server: HttpServer, method: str, path: str, mode: str
) -> None:
    document = get(server, "/api/openapi.json").body
    config = schemathesis.Config()
    checks = config.projects.default.checks
    checks.positive_data_acceptance.expected_statuses = REFUSED
    schema = schemathesis.openapi.from_dict(document, config=config)
    operation = schema[path][method]
    generation = schemathesis.GenerationMode(mode)
    base = server.url.removesuffix("/mcp")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=generation))
        case.call_and_validate(base_url=base, excluded_checks=LOOSE)

    ask()


def test_the_operations_tested_are_all_that_are_described(server: HttpServer) -> None:
    paths = get(server, "/api/openapi.json").body["paths"]
    described = {(verb.upper(), path) for path, verbs in paths.items() for verb in verbs}
    assert described == set(OPERATIONS)


def test_every_route_under_api_is_described_but_the_document_itself(server: HttpServer) -> None:
    served = {route.path for route in RestRoutes(None, None).routes()}  # type: ignore[arg-type, attr-defined]
    described = {
        path.replace("{slug}", "{slug:path}") for path in get(server, "/api/openapi.json").body["paths"]
    }
    assert served - described == {"/api/openapi.json"} and not described - served
