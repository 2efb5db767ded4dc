"""From our errors to HTTP: one table, one body.

Every error body has `detail` (what happened and what to do) and `request_id` (which is in the log
too). A provider's failure has `error` with its type instead, as clients expect it.
"""

import logging
from math import ceil
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from remanence.edge.responses import JsonBytes
from remanence.errors import (
    AgentBusy,
    AppError,
    ApprovalPending,
    BadArgument,
    Conflict,
    ContextOverflow,
    EditConflict,
    Forbidden,
    Gone,
    Invalid,
    LeaseLost,
    McpUnavailable,
    NotAllowed,
    NotFound,
    ProviderAuth,
    ProviderCredits,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
    TooLarge,
    TooManyRequests,
    Unauthenticated,
    UnknownType,
)
from remanence.kit.logging import request_id

log = logging.getLogger(__name__)

STATUS: dict[type[AppError], int] = {
    AppError: 500,
    NotFound: 404,
    Conflict: 409,
    Invalid: 422,
    BadArgument: 400,
    TooLarge: 413,
    UnknownType: 415,
    Forbidden: 403,
    Unauthenticated: 401,
    TooManyRequests: 429,
    NotAllowed: 405,
    Gone: 410,
    LeaseLost: 409,
    McpUnavailable: 404,
    ProviderError: 500,
    ProviderRefused: 400,
    ContextOverflow: 400,
    ProviderAuth: 401,
    ProviderCredits: 402,
    RateLimited: 429,
    ProviderTimeout: 504,
}
"""Looked up along the class's ancestry, so a new leaf needs no new entry."""

_ID_EXAMPLE = "-123e4567-e89b-42d3-8456-426614174000"


def status_of(error: AppError) -> int:
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def error_body(error: AppError) -> dict[str, Any]:
    body: dict[str, Any]
    match error:
        case ProviderError():
            body = {
                "error": {
                    "type": error.error_type,
                    "message": error.message,
                    "detail": f"{error.code}: {error.message}",
                }
            }
        case ApprovalPending():
            body = {
                "detail": {
                    "code": error.code,
                    "message": error.message,
                    "pending_request_id": error.pending_request_id,
                }
            }
        case McpUnavailable():
            body = {"detail": {"code": error.code, "message": error.message, "error": error.message}}
        case AgentBusy():
            body = {"detail": f"{error.code}: {error.message}", "run_id": error.run_id}
        case EditConflict():
            body = {"detail": f"{error.code}: {error.message}", "revision": error.revision}
        case _:
            body = {"detail": f"{error.code}: {error.message}"}
    return body | {"request_id": request_id.get()}


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(AppError, _on_app_error)
    app.add_exception_handler(RequestValidationError, _on_validation_error)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_exception_handler(Exception, _on_unforeseen)


async def _on_app_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AppError)
    return error_answer(error)


def error_answer(error: AppError, more: dict[str, Any] | None = None) -> Response:
    """`more` is for clients that look for the error in another place."""
    headers: dict[str, str] = {}
    if isinstance(error, ApprovalPending | EditConflict):
        headers["x-should-retry"] = "false"  # waiting does not clear it; a person must decide
    if isinstance(error, RateLimited | TooManyRequests) and error.retry_after_s is not None:
        headers["retry-after"] = str(max(1, ceil(error.retry_after_s)))
    if isinstance(error, Unauthenticated):
        return JsonBytes({"detail": "Unauthorized", "request_id": request_id.get()}, 401)
    return JsonBytes(error_body(error) | (more or {}), status_of(error), headers)


async def _on_validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems: list[str] = []
    examples: list[str] = []
    for each in error.errors():
        where = ".".join(str(step) for step in each["loc"])
        problems.append(f"{where}: {each['msg']}")
        if each["loc"][0] == "path" and each["type"] == "string_pattern_mismatch":
            prefix = str(each.get("ctx", {}).get("pattern", "")).lstrip("^").split("-[")[0]
            examples.append(prefix + _ID_EXAMPLE)
    body: dict[str, Any] = {"trace_id": request_id.get(), "detail": "; ".join(problems)}
    if examples:
        body["examples"] = examples
    return JsonBytes(body | {"request_id": request_id.get()}, 422)


async def _on_http_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = {"detail": error.detail, "request_id": request_id.get()}
    return JsonBytes(body, error.status_code, dict(error.headers or {}))


async def _on_unforeseen(request: Request, error: Exception) -> Response:
    log.error("unforeseen error at %s %s", request.method, request.url.path, exc_info=error)
    text = "INTERNAL_SERVER_ERROR: Something went wrong here; the log has the details under this request id."
    name = request_id.get() or ""
    # The door that names answers is not passed on this way out.
    return JsonBytes({"detail": text, "request_id": name}, 500, {"x-request-id": name})
