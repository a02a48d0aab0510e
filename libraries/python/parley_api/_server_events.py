"""Server-sent events."""

from __future__ import annotations

import json
from typing import Any, BinaryIO, Iterator, List, NamedTuple

# A longer line is a fault of the server.
_MAX_LINE_BYTES = 64 * 1024 * 1024


class ServerEvent(NamedTuple):
    """An event of a stream."""

    event: str
    # The parsed JSON.
    data: Any


def read_events(body: BinaryIO) -> Iterator[ServerEvent]:
    """The events of an answer's body; their data must be JSON. Ends with the body."""
    event = "message"
    data: List[str] = []
    for line in _lines(body):
        if line == "":
            if data:
                yield ServerEvent(event, json.loads("\n".join(data)))
            event, data = "message", []
            continue
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "event":
            event = value
        elif field == "data":
            data.append(value)


def _lines(body: BinaryIO) -> Iterator[str]:
    while True:
        line = body.readline(_MAX_LINE_BYTES)
        if not line.endswith(b"\n"):
            if len(line) == _MAX_LINE_BYTES:
                raise ValueError("a line of the stream is too long")
            return
        yield line.decode("utf-8").rstrip("\r\n")
