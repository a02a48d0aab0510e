"""The signature of webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Callable, Optional

from ._generated.types import WebhookEvent
from .errors import WebhookError

# The header with the signature.
SIGNATURE_HEADER = "X-Service-Webhook-Signature"
_MAX_HEADER_CHARS = 1024


def verify_webhook(
    body: bytes,
    signature: Optional[str],
    secret: str,
    *,
    tolerance: float = 300,
    now: Callable[[], float] = time.time,
) -> WebhookEvent:
    """
    The event of a request that Parley has sent. `body` is its bytes before any parser, `signature` the value of
    `X-Service-Webhook-Signature`, `tolerance` how many seconds the time of sending may be from now. Raises
    `WebhookError` for any other request.
    """
    if secret == "":
        raise ValueError("the secret is empty")
    if not signature or len(signature) > _MAX_HEADER_CHARS:
        raise WebhookError("the signature is missing")
    parts = [part.strip().partition("=")[::2] for part in signature.split(",")]
    sent = next((value for name, value in parts if name == "t"), "")
    expected = hmac.new(secret.encode(), sent.encode() + b"." + body, hashlib.sha256).hexdigest().encode()
    if not any(name == "v1" and hmac.compare_digest(value.encode(), expected) for name, value in parts):
        raise WebhookError("the signature is wrong")
    is_time = sent.isascii() and sent.isdigit() and len(sent) < 13
    if not is_time or abs(now() - int(sent)) > tolerance:
        raise WebhookError("the time of sending is too far from now")
    return json.loads(body)
