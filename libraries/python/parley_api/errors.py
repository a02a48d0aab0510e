"""Errors of the library: what the API refused, by status, and requests without an answer."""

from __future__ import annotations

import json
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Dict, List, Optional, Type

from ._generated.reasons import ErrorReason


class ParleyError(Exception):
    """Any error of this library."""


class ApiConnectionError(ParleyError):
    """No answer arrived: whether the request was carried out is unknown."""


class ApiTimeoutError(ApiConnectionError):
    """No answer arrived in time."""


class ApiError(ParleyError):
    """The API answered with an error. docs/errors.md of Parley has every message and reason."""

    def __init__(self, status: int, headers: Message, body: bytes, now: float) -> None:
        self.status = status
        # The parsed body, or its text if it is not JSON.
        self.body: Any = _parsed(body)
        said: Dict[str, Any] = self.body if isinstance(self.body, dict) else {}
        self.message: str = said.get("message") or _first_field(self.body) or f"the API answered {status}"
        # Why, where the status alone does not say it. Later versions of the API may have further reasons.
        self.reason: Optional[ErrorReason] = said.get("reason")
        # Names the request in the server's log.
        self.request_id: Optional[str] = headers.get("X-Request-Id")
        # Seconds until it may be sent again; None if the API does not say.
        self.retry_after: Optional[float] = _retry_after(headers.get("Retry-After"), now)
        super().__init__(f"{status}: {self.message}")


class BadRequestError(ApiError):
    """400: the request contradicts itself, or refers to something unknown."""


class AuthenticationError(ApiError):
    """401: the key is missing, wrong or expired."""


class OutOfCreditError(ApiError):
    """402: the wallet is empty; nothing was charged."""


class ForbiddenError(ApiError):
    """403: the account may not do this; waiting does not help."""


class NotFoundError(ApiError):
    """404."""


class ConflictError(ApiError):
    """409: the state of the thing does not allow it."""


class InvalidRequestError(ApiError):
    """422: fields are invalid, or a call is not allowed, which `reason` explains."""

    @property
    def fields(self) -> List[Dict[str, Any]]:
        """The invalid fields with `type`, `loc`, `msg` and `ctx`; empty if there is a reason."""
        return self.body if isinstance(self.body, list) else []


class TooManyRequestsError(ApiError):
    """429: a limit that waiting helps against."""


class ServerError(ApiError):
    """500 and above: something in or behind the API failed."""


class WebhookError(ParleyError):
    """A webhook's signature is missing, wrong or too old."""


_CLASSES: Dict[int, Type[ApiError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    402: OutOfCreditError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    422: InvalidRequestError,
    429: TooManyRequestsError,
}


def error_of(status: int, headers: Message, body: bytes, now: float) -> ApiError:
    """The error of an answer that is no success; `now` is the wall time in seconds."""
    return _CLASSES.get(status, ServerError if status >= 500 else ApiError)(status, headers, body, now)


def _retry_after(header: Optional[str], now: float) -> Optional[float]:
    """Seconds from now; the header has seconds or a date (RFC 9110, section 10.2.3)."""
    if header is None:
        return None
    if header.isascii() and header.isdigit() and len(header) < 10:
        return float(header)
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


def _first_field(body: Any) -> Optional[str]:
    if not isinstance(body, list) or not body or not isinstance(body[0], dict):
        return None
    return f"{'.'.join(body[0].get('loc', []))}: {body[0].get('msg')}"


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")
