"""The Python library and a server that does not behave, on a real connection."""

from __future__ import annotations

import socket
import threading
import unittest
from contextlib import contextmanager
from typing import Iterator, List, Tuple

from parley_api import ApiConnectionError, ApiError, ApiTimeoutError, Parley, RequestOptions

ONCE = RequestOptions(max_retries=0)


@contextmanager
def server(answer: bytes, closes: bool = True) -> Iterator[Tuple[str, List[bytes]]]:
    """Gives every request these bytes, and closes the connection if `closes`. Its address and its requests."""
    requests: List[bytes] = []
    connections: List[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            requests.append(connection.recv(65536))
            connection.sendall(answer)
            if closes:
                connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", requests
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()
        for connection in connections:
            connection.close()


class Network(unittest.TestCase):
    def test_a_redirect_is_not_followed_as_it_would_take_the_key_along(self) -> None:
        head = b"HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"
        with server(head) as (url, requests), self.assertRaises(ApiError) as caught:
            Parley("pk_1", url).agents.get("a", options=ONCE)
        self.assertEqual((caught.exception.status, len(requests)), (302, 1))

    def test_an_answer_that_stops_is_a_timeout(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"
        with server(head, closes=False) as (url, _), self.assertRaises(ApiTimeoutError):
            Parley("pk_1", url, timeout=0.1).agents.get("a", options=ONCE)

    def test_an_answer_that_is_cut_off_is_none(self) -> None:
        with server(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}") as (url, _):
            with self.assertRaises(ApiConnectionError):
                Parley("pk_1", url).agents.get("a", options=ONCE)

    def test_events_of_a_synthesis_that_are_cut_off_fail(self) -> None:
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        with server(head + b"9\r\ndata: 1\n\n\r\n" + b"7\r\ndata") as (url, _):
            events = Parley("pk_1", url).speech.synthesize_with_timestamps(text="Hello", options=ONCE)
            self.assertEqual(next(events).data, 1)
            with self.assertRaises(ApiConnectionError):
                next(events)


if __name__ == "__main__":
    unittest.main()
