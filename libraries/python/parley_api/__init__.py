"""Parley's API for servers in Python: agents, calls, sessions, webhooks."""

from ._generated import types
from ._parley import Parley
from ._server_events import ServerEvent
from ._transport import RequestOptions
from ._version import VERSION as __version__
from .errors import (
    ApiConnectionError,
    ApiError,
    ApiTimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    OutOfCreditError,
    ParleyError,
    ServerError,
    TooManyRequestsError,
    WebhookError,
)
from .webhooks import SIGNATURE_HEADER, verify_webhook

__all__ = [
    "SIGNATURE_HEADER",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "OutOfCreditError",
    "Parley",
    "ParleyError",
    "RequestOptions",
    "ServerError",
    "ServerEvent",
    "TooManyRequestsError",
    "WebhookError",
    "__version__",
    "types",
    "verify_webhook",
]
