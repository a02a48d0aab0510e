"""Parley's API for servers in Python: agents, calls, sessions, webhooks."""

from . import types
from ._generated.reasons import ErrorReason
from ._pages import Pages
from ._parley import Parley
from ._server_events import ServerEvent
from ._transport import Answer, RequestOptions
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
    "Answer",
    "ApiConnectionError",
    "ApiError",
    "ApiTimeoutError",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ErrorReason",
    "ForbiddenError",
    "InvalidRequestError",
    "NotFoundError",
    "OutOfCreditError",
    "Pages",
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
