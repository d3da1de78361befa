"""The REST routes against their own OpenAPI document: generated requests to a real server, no failure."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.edges.processes import HttpServer
from tests.edges.wiki_server import WikiFolder, get

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed")

EXAMPLES = 20
OPERATIONS = [
    *(("GET", path) for path in ("/api/bundle", "/api/manifest", "/api/pages", "/api/pages/{slug}")),
    ("GET", "/api/source-refs"),
    ("POST", "/api/bundle"),
]
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
    if (path, mode) != ("/api/manifest", "negative")  # it takes nothing that could be wrong
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
    later = {"/api/briefing", "/api/graph", "/api/graph/neighborhood"}
    described = {(verb.upper(), path) for path, verbs in paths.items() for verb in verbs if path not in later}
    assert described == set(OPERATIONS)
