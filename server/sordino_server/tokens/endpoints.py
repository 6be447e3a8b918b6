"""/v1/campaigns/{campaign_id}/rounds/{index}/tokens"""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from sordino_server.context import Context, Injected
from sordino_server.errors import ServerError
from sordino_server.keys import service as keys
from sordino_server.keys.operator_route import OperatorRequest, OperatorRoute
from sordino_server.kit.path_parameters import DigestPath, RoundPath
from sordino_server.models import Role
from sordino_server.tokens.issuing import Applicant, Issuing
from sordino_shared.errors import ProtocolError
from sordino_shared.http.senders import TrustedProxies
from sordino_shared.protocol import CBOR_MEDIA_TYPE, Problem, TokenRequest

router = APIRouter(prefix="/campaigns", tags=["devices"], route_class=OperatorRoute)

_BODY = {
    "required": True,
    "content": {CBOR_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary", "title": "token_request"}}},
}
_BEARER = "bearer "


@router.post(
    "/{campaign_id}/rounds/{index}/tokens",
    summary="Evaluate a blinded token through the campaign's gate",
    response_class=Response,
    responses={200: {"description": "The evaluation and its proof", "content": {CBOR_MEDIA_TYPE: {}}}},
    openapi_extra={"requestBody": _BODY},
)
def post_tokens(context: Injected, request: Request, campaign_id: DigestPath, index: RoundPath) -> Response:
    """Takes a `token_request`, returns `token_evaluations`; the same request again gives the same token.

    The gate `account` needs a key of role `issuer`, `hook` and `address` need none. In a campaign behind a shuffler
    its key, of role `shuffler`, gets up to 200 at once, through no gate but `hook`; devices ask it.
    """
    issuing: Issuing = request.app.state.issuing
    address = TrustedProxies.parse(context.settings.trusted_proxies).sender(request.scope)
    authorization = request.headers.get("authorization", "")

    def role() -> Role | None:
        return _role(context, authorization, campaign_id)

    evaluations = issuing.issue(campaign_id, index, _read(request), Applicant(address, role))
    return Response(evaluations.content, media_type=CBOR_MEDIA_TYPE)


def _role(context: Context, authorization: str, campaign: str) -> Role | None:
    """That of the key, None without one; raises `unauthorized` or `forbidden` for a key that is of neither party."""
    if not authorization.lower().startswith(_BEARER):
        return None
    with context.database.read("authenticate applicant") as session:
        text = authorization[len(_BEARER) :].strip()
        return keys.authenticate_applicant(session, text, campaign, context.clock.now())


def _read(request: Request) -> TokenRequest:
    assert isinstance(request, OperatorRequest)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != CBOR_MEDIA_TYPE:
        raise ServerError(Problem.UNSUPPORTED_MEDIA_TYPE, f"send the document with Content-Type: {CBOR_MEDIA_TYPE}")
    content = request.arrived.content
    try:
        return TokenRequest.read(content if isinstance(content, bytes) else content.read_bytes())
    except ProtocolError as error:
        raise ServerError(Problem.MALFORMED_BODY, str(error)) from error
