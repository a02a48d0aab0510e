"""The decision whether, and when, a failed request is sent again."""

from __future__ import annotations

from typing import NamedTuple, Optional

from .errors import ApiConnectionError, ApiError, ParleyError

_FIRST_WAIT = 0.5
_LONGEST_WAIT = 8.0
# Statuses after which a request may have been carried out or not.
_UNCERTAIN = {502, 503, 504}


class Failure(NamedTuple):
    """A failure, and what is known of its request."""

    error: ParleyError
    # Earlier failures of the same request.
    earlier: int
    # Whether sending it twice has the effect of once.
    is_repeatable: bool
    # Whether it has an idempotency key.
    has_key: bool


def retry_wait(failure: Failure, random: float, longest_retry_after: float) -> Optional[float]:
    """
    Seconds until the request is sent again; None if it is not. Waits as long as `Retry-After` says, unless
    that is longer than `longest_retry_after`, and otherwise longer each time. `random` is from 0 to 1: clients
    that failed together do not return together.
    """
    if not _may_repeat(failure):
        return None
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2**failure.earlier)
    asked = failure.error.retry_after if isinstance(failure.error, ApiError) else None
    if asked is None:
        return wait * (0.5 + random / 2)
    return None if asked > longest_retry_after else asked + random * _FIRST_WAIT


def _may_repeat(failure: Failure) -> bool:
    error = failure.error
    if isinstance(error, ApiConnectionError):
        return failure.is_repeatable
    if not isinstance(error, ApiError):
        return False
    # The request was refused before anything was done.
    if error.status == 429:
        return True
    # An earlier attempt with the same key is still running.
    if failure.has_key and error.reason == "idempotency_key_conflict":
        return True
    return failure.is_repeatable and error.status in _UNCERTAIN
