"""The signature of webhooks."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Callable, Optional, Sequence, Union

from ._generated.types import WebhookEvent
from .errors import WebhookError

# The header with the signature.
SIGNATURE_HEADER = "X-Service-Webhook-Signature"
_MAX_HEADER_CHARS = 1024


def verify_webhook(
    body: bytes,
    signature: Optional[str],
    secret: Union[str, Sequence[str]],
    *,
    tolerance: float = 300,
    now: Callable[[], float] = time.time,
) -> WebhookEvent:
    """
    The event of a request that Parley has sent. `body` is its bytes before any parser, `signature` the value of
    `X-Service-Webhook-Signature`, `tolerance` how many seconds the time of sending may be from now. Of
    several secrets any may have signed it: calls in progress keep an old one. Raises `WebhookError` for any
    other request, `ValueError` without a secret.
    """
    secrets = [secret] if isinstance(secret, str) else secret
    if not secrets or "" in secrets:
        raise ValueError("the secret is empty")
    if not signature or len(signature) > _MAX_HEADER_CHARS:
        raise WebhookError("the signature is missing")
    parts = [part.strip().partition("=")[::2] for part in signature.split(",")]
    sent = next((value for name, value in parts if name == "t"), "")
    signed = sent.encode() + b"." + body
    expected = [hmac.new(key.encode(), signed, hashlib.sha256).hexdigest().encode() for key in secrets]
    signatures = [value.encode() for name, value in parts if name == "v1"]
    if not any(hmac.compare_digest(one, other) for one in signatures for other in expected):
        raise WebhookError("the signature is wrong")
    is_time = sent.isascii() and sent.isdigit() and len(sent) < 13
    if not is_time or abs(now() - int(sent)) > tolerance:
        raise WebhookError("the time of sending is too far from now")
    return json.loads(body)
