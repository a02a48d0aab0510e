"""Stand-ins for the network and the clock: answers in turn, and waits that are only counted."""

from __future__ import annotations

import io
import json
from email.message import Message
from typing import Any, Dict, List, Optional, Tuple

from parley_api import Parley
from parley_api._clock import Clock

WALL_TIME = 1767225600.0


class ScriptedAnswer(io.BytesIO):
    """An answer of the API."""

    def __init__(self, status: int, body: bytes, headers: Optional[Dict[str, str]] = None) -> None:
        super().__init__(body)
        self.status = status
        self.headers = Message()
        for name, value in (headers or {}).items():
            self.headers[name] = value


def success(body: Any, status: int = 200) -> ScriptedAnswer:
    """A body as JSON."""
    return ScriptedAnswer(status, json.dumps(body).encode())


def refusal(status: int, reason: Optional[str] = None, headers: Optional[Dict[str, str]] = None) -> ScriptedAnswer:
    """An error as the API sends it."""
    body = {"status": status, "message": "no", "reason": reason}
    return ScriptedAnswer(status, json.dumps(body).encode(), headers)


class CountedClock(Clock):
    """A clock that stands still; `waits` are the times that were slept, in seconds."""

    def __init__(self) -> None:
        self.waits: List[float] = []

    def wall_time(self) -> float:
        return WALL_TIME

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def client(*answers: Any) -> Tuple[Parley, List[Any], List[float]]:
    """
    A client whose requests get these answers, with its requests and waits. An exception is raised instead of
    an answer. Its random numbers are 0, so waits are half of the usual.
    """
    sent: List[Any] = []
    clock = CountedClock()
    keys = iter(range(1, 100))

    def send(request: Any, timeout: float) -> Any:
        answer = answers[len(sent)]
        sent.append(request)
        if isinstance(answer, Exception):
            raise answer
        return answer

    parley = Parley(
        "pk_1",
        "https://parley.example.com/",
        send=send,
        clock=clock,
        random=lambda: 0.0,
        new_key=lambda: f"key-{next(keys)}",
    )
    return parley, sent, clock.waits
