"""The client: all resources of the API, with one key."""

from __future__ import annotations

import os
import random
import re
import uuid
from typing import Any, Callable, Optional

from ._clock import Clock
from ._generated.resources import Resources
from ._transport import Answer, RequestOptions, Settings, Transport, machine_send
from .errors import ParleyError


class Parley(Resources):
    """
    A client of Parley's API. It holds no connection that must be closed, and threads may share it.

    `api_key` is that of an account (`PARLEY_API_KEY` unless given), `base_url` where Parley runs
    (`PARLEY_URL`, or http://127.0.0.1:8080). Times are seconds. A request whose `Retry-After` is longer than
    `longest_retry_after` fails at once. Raises `ParleyError` without a key, or for one that no header can
    have.
    """

    def __init__(
        self,
        api_key: Optional[str] = None,
        base_url: Optional[str] = None,
        *,
        timeout: float = 60,
        max_retries: int = 2,
        longest_retry_after: float = 60,
        send: Optional[Callable[[Any, float], Answer]] = None,
        clock: Optional[Clock] = None,
        random: Callable[[], float] = random.random,
        new_key: Callable[[], str] = lambda: str(uuid.uuid4()),
    ) -> None:
        key = (api_key or os.environ.get("PARLEY_API_KEY") or "").strip()
        if not key:
            raise ParleyError("no key: set api_key or PARLEY_API_KEY")
        # `http.client` would refuse it with a message that contains the key.
        if not re.fullmatch(r"[!-~]+", key):
            raise ParleyError("the key has a character that no key has")
        settings = Settings(
            api_key=key,
            base_url=base_url or os.environ.get("PARLEY_URL") or "http://127.0.0.1:8080",
            timeout=timeout,
            max_retries=max_retries,
            longest_retry_after=longest_retry_after,
            send=send or machine_send(),
            clock=clock or Clock(),
            random=random,
            new_key=new_key,
        )
        self._transport = Transport(settings)
        super().__init__(self._transport)

    def download(self, url: str, options: RequestOptions = RequestOptions()) -> Answer:
        """A file at an address that the API returned, such as a recording's. The key is not sent there."""
        return self._transport.download(url, options)
