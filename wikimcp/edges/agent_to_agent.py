"""The optional agent-to-agent surface: a card that says what is on offer, and messages answered by bundles.

Speaks A2A 1.0 over HTTP and JSON, one message for one message: there are no tasks, no streams and no
notifications. The only importer of the A2A SDK, an extra.
"""

from __future__ import annotations

import uuid
from typing import Any

from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    HTTPAuthSecurityScheme,
    Message,
    Part,
    Role,
    SecurityScheme,
    SendMessageRequest,
    SendMessageResponse,
)
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from wikimcp.edges.answers import clean_json, clean_text
from wikimcp.edges.rest_answers import BadRequest, Calls, arguments_of, json_answer
from wikimcp.errors import BadArgument
from wikimcp.service import ToolAnswer, WikiService

CARD_PATH = "/.well-known/agent-card.json"
PROTOCOL_VERSION = "1.0"
MEDIA_TYPE = "application/a2a+json"
_LONGEST_ID = 200


def agent_routes(service: WikiService, calls: Calls) -> list[BaseRoute]:
    """Return the card and the route that takes messages."""

    async def card(request: Request) -> Response:
        return json_answer(request, _as_json(agent_card(service, str(request.base_url))))

    async def send(request: Request) -> Response:
        asked = _message_of(await arguments_of(request))
        query = "\n".join(part.text for part in asked.parts if part.text.strip())
        if not query:
            raise BadArgument("the message holds no text", hint="Send the question as a text part.")
        caller = calls.caller_of(request)
        answer = await calls.run(
            "the tool 'assemble_bundle'",
            lambda: service.call("assemble_bundle", {"query": clean_text(query)}, caller),
        )
        reply = SendMessageResponse(message=_reply(answer, asked))
        return JSONResponse(_as_json(reply), media_type=MEDIA_TYPE, headers={"Cache-Control": "no-store"})

    return [
        Route(CARD_PATH, card, methods=["GET"]),
        Route("/message:send", send, methods=["POST"]),
    ]


def agent_card(service: WikiService, base_url: str) -> AgentCard:
    """Return the card of a service that is reached under ``base_url``."""
    modes = ["text/markdown", "application/json"]
    return AgentCard(
        name=service.name,
        description="Cited sections of a wiki for a question, with an honest word on how well it covers it. "
        "Returns passages, never written answers; read-only.",
        version=service.version,
        supported_interfaces=[
            AgentInterface(
                url=base_url.rstrip("/"), protocol_binding="HTTP+JSON", protocol_version=PROTOCOL_VERSION
            )
        ],
        capabilities=AgentCapabilities(streaming=False, push_notifications=False),
        security_schemes={
            "bearer": SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
        },
        default_input_modes=["text/plain"],
        default_output_modes=modes,
        skills=[
            AgentSkill(
                id="assemble_bundle",
                name="Cited sections",
                description="The sections of the wiki that answer a question, each with a citation.",
                tags=["retrieval", "citations"],
                examples=["How do we roll back a bad deploy?"],
                input_modes=["text/plain"],
                output_modes=modes,
            )
        ],
    )


def _message_of(body: dict[str, Any]) -> Message:
    """Return the message of a request's body. Raises BadRequest for what is none."""
    try:
        request = ParseDict(body, SendMessageRequest(), ignore_unknown_fields=True)
    except (ParseError, ValueError, TypeError, RecursionError):
        raise BadRequest(
            "the body is no A2A message",
            hint='As in {"message": {"messageId": "1", "role": "ROLE_USER", "parts": [{"text": "…"}]}}.',
        ) from None
    if not request.HasField("message"):
        raise BadRequest("the body holds no message")
    message: Message = request.message
    return message


def _reply(answer: ToolAnswer, asked: Message) -> Message:
    """Return the bundle as a message, as text and as data: the same facts twice, for either reader."""
    parts = [Part(text=clean_text(answer.text), media_type="text/markdown")]
    if answer.structured is not None:
        parts.append(ParseDict({"data": clean_json(answer.structured)}, Part(media_type="application/json")))
    return Message(
        message_id=str(uuid.uuid4()),
        context_id=asked.context_id[:_LONGEST_ID] or str(uuid.uuid4()),
        role=Role.ROLE_AGENT,
        parts=parts,
    )


def _as_json(message: Any) -> dict[str, Any]:  # noqa: ANN401 - protobuf ships no types
    found: dict[str, Any] = MessageToDict(message)
    return found
