"""Requests of the Python library: repetitions, errors, lists, events, forms."""

from __future__ import annotations

import itertools
import json
import socket
import unittest
from http.client import IncompleteRead
from typing import Any, List
from urllib.error import URLError

from parley_api import (
    ApiConnectionError,
    ApiTimeoutError,
    InvalidRequestError,
    NotFoundError,
    Parley,
    ParleyError,
    RequestOptions,
    ServerError,
    TooManyRequestsError,
)
from parley_api.types import SessionRow

from .scripted import ScriptedAnswer, client, refusal, success

LOST = URLError(ConnectionResetError("reset"))
CALL = {"agent_id": "a", "phone_number_id": "n", "to_number": "+12125550123"}


class Requests(unittest.TestCase):
    def test_has_the_key_the_ids_and_the_query_in_the_places_of_the_route(self) -> None:
        parley, sent, _ = client(success({"deliveries": [], "has_more": False}))
        parley.sessions.list_deliveries("a/b ?", page_size=2, include_total=True).page()
        self.assertEqual(
            sent[0].full_url,
            "https://parley.example.com/v1/agent/sessions/a%2Fb%20%3F/deliveries?page_size=2&include_total=true",
        )
        self.assertEqual(sent[0].get_header("Authorization"), "Bearer pk_1")

    def test_is_not_sent_if_an_id_would_be_another_route(self) -> None:
        parley, sent, _ = client()
        for name in ("", ".", ".."):
            with self.assertRaises(ValueError):
                parley.agents.delete(name)
        self.assertEqual(sent, [])

    def test_sends_none_but_not_what_was_left_out(self) -> None:
        parley, sent, _ = client(success({}, 201))
        parley.keys.create(name="Website", expires_at=None)
        self.assertEqual(json.loads(sent[0].data), {"name": "Website", "expires_at": None})

    def test_is_repeated_after_a_503_later_each_time_and_then_fails(self) -> None:
        parley, _, waits = client(refusal(503), refusal(503), refusal(503))
        with self.assertRaises(ServerError) as caught:
            parley.agents.get("a")
        self.assertEqual((caught.exception.status, waits), (503, [0.25, 0.5]))

    def test_waits_as_long_as_retry_after_says_in_seconds_or_as_a_date(self) -> None:
        for header in ("7", "Thu, 01 Jan 2026 00:00:07 GMT"):
            parley, _, waits = client(refusal(429, headers={"Retry-After": header}), success({"agent_id": "a"}))
            self.assertEqual(parley.agents.get("a"), {"agent_id": "a"})
            self.assertEqual(waits, [7.0])

    def test_fails_at_once_if_retry_after_is_longer_than_a_minute(self) -> None:
        parley, _, waits = client(refusal(429, headers={"Retry-After": "61"}))
        with self.assertRaises(TooManyRequestsError) as caught:
            parley.agents.get("a")
        self.assertEqual((caught.exception.retry_after, waits), (61.0, []))

    def test_that_would_create_a_second_thing_is_not_repeated(self) -> None:
        for answer in (LOST, refusal(503)):
            parley, sent, _ = client(answer)
            with self.assertRaises((ApiConnectionError, ServerError)):
                parley.keys.create(name="Website")
            self.assertEqual(len(sent), 1)

    def test_that_creates_something_is_repeated_without_an_answer_with_the_same_key(self) -> None:
        parley, sent, _ = client(LOST, refusal(503), success({"agent_id": "a"}, 201))
        self.assertEqual(parley.agents.create(name="Front desk"), {"agent_id": "a"})
        keys = [request.get_header("Idempotency-key") for request in sent]
        self.assertEqual(keys, ["key-1", "key-1", "key-1"])

    def test_that_creates_something_is_repeated_after_a_429(self) -> None:
        parley, _, waits = client(refusal(429), success({"agent_id": "a"}, 201))
        self.assertEqual(parley.agents.create(name="Front desk"), {"agent_id": "a"})
        self.assertEqual(waits, [0.25])

    def test_that_places_a_call_has_one_idempotency_key_in_all_its_attempts(self) -> None:
        created = {"session_id": "s", "status": "queued"}
        running = refusal(409, "idempotency_key_conflict")
        parley, sent, _ = client(LOST, running, success(created, 201), success(created, 201))
        self.assertEqual(parley.phone_calls.create(**CALL), created)
        parley.phone_calls.create(**CALL, options=RequestOptions(idempotency_key="order-1042"))
        keys = [request.get_header("Idempotency-key") for request in sent]
        self.assertEqual(keys, ["key-1", "key-1", "key-1", "order-1042"])

    def test_that_deletes_succeeds_if_its_first_answer_was_lost_and_the_thing_is_gone(self) -> None:
        parley, _, _ = client(LOST, refusal(404), refusal(429), refusal(404))
        self.assertIsNone(parley.agents.delete("a"))
        with self.assertRaises(NotFoundError):
            parley.agents.delete("b")

    def test_that_deletes_and_answers_with_more_than_success_fails_if_the_thing_is_gone(self) -> None:
        parley, _, _ = client(LOST, refusal(404))
        with self.assertRaises(NotFoundError):
            parley.operator.stop_speech_model_download("m")

    def test_without_an_answer_in_time_fails_with_a_timeout(self) -> None:
        parley, sent, _ = client(URLError(socket.timeout()), socket.timeout())
        with self.assertRaises(ApiTimeoutError):
            parley.agents.get("a", options=RequestOptions(max_retries=1))
        self.assertEqual(len(sent), 2)

    def test_whose_answer_is_no_json_fails_as_if_there_were_none(self) -> None:
        parley, _, _ = client(ScriptedAnswer(200, b"<html>"))
        with self.assertRaises(ApiConnectionError):
            parley.agents.get("a", options=RequestOptions(max_retries=0))

    def test_that_was_refused_has_status_reason_request_id_and_fields_in_its_error(self) -> None:
        field = {"type": "missing", "loc": ["body", "name"], "msg": "Field required", "ctx": {}}
        invalid = ScriptedAnswer(422, json.dumps([field]).encode(), {"X-Request-Id": "r1"})
        parley, _, _ = client(invalid, refusal(422, "destination_not_allowed"))
        with self.assertRaises(InvalidRequestError) as caught:
            parley.agents.create(name="")
        error = caught.exception
        self.assertEqual(str(error), "422: body.name: Field required")
        self.assertEqual((error.request_id, error.reason, error.fields), ("r1", None, [field]))
        with self.assertRaises(InvalidRequestError) as caught:
            parley.phone_calls.create(**CALL)
        self.assertEqual((caught.exception.reason, caught.exception.fields), ("destination_not_allowed", []))

    def test_for_a_file_goes_to_its_address_without_the_key(self) -> None:
        parley, sent, _ = client(ScriptedAnswer(200, b"sound"))
        options = RequestOptions(headers={"Range": "bytes=0-4"})
        answer = parley.download("https://bucket.example.com/human.wav?signed", options)
        self.assertEqual(answer.read(), b"sound")
        self.assertEqual(sent[0].header_items(), [("Range", "bytes=0-4")])

    def test_without_a_body_declares_none(self) -> None:
        parley, sent, _ = client(success({}))
        parley.sessions.end("s")
        self.assertEqual((sent[0].get_method(), sent[0].data), ("POST", None))
        self.assertIsNone(sent[0].get_header("Content-type"))

    def test_with_files_is_a_form(self) -> None:
        parley, sent, _ = client(success({}, 201))
        parley.knowledge_sources.create(source=('me"nu.md', b"# Menu"), name="Menu")
        boundary = sent[0].get_header("Content-type").partition("boundary=")[2].encode()
        parts = sent[0].data.split(b"--" + boundary)
        self.assertEqual(
            parts[1:],
            [
                b'\r\nContent-Disposition: form-data; name="source"; filename="me%22nu.md"\r\n'
                b"Content-Type: application/octet-stream\r\n\r\n# Menu\r\n",
                b'\r\nContent-Disposition: form-data; name="name"\r\n\r\nMenu\r\n',
                b"--\r\n",
            ],
        )


class Keys(unittest.TestCase):
    def test_are_used_without_the_spaces_and_line_breaks_around_them(self) -> None:
        sent: List[Any] = []

        def send(request: Any, _timeout: float) -> Any:
            sent.append(request)
            return success({})

        Parley(" pk_1\n", send=send).account.get()
        self.assertEqual(sent[0].get_header("Authorization"), "Bearer pk_1")

    def test_that_no_header_can_have_are_refused_by_a_message_without_them(self) -> None:
        for key in ("pk_1\nX-A: b", "pk_ü", "pk 1"):
            with self.subTest(key=key), self.assertRaises(ParleyError) as caught:
                Parley(key)
            self.assertEqual(str(caught.exception), "the key has a character that no key has")


class Lists(unittest.TestCase):
    def test_are_read_page_by_page_by_cursor_as_far_as_needed(self) -> None:
        rows = [{"agent_id": "a"}, {"agent_id": "b"}]
        first = {"agents": rows, "has_more": True, "next_cursor": "next"}
        last = {"agents": [{"agent_id": "c"}], "has_more": False, "next_cursor": None}
        parley, sent, _ = client(success(first), success(last))
        ids = iter(agent["agent_id"] for agent in parley.agents.list(page_size=2, page=1))
        self.assertEqual((next(ids), next(ids), len(sent)), ("a", "b", 1))
        self.assertEqual(list(ids), ["c"])
        queries = [request.full_url.partition("?")[2] for request in sent]
        self.assertEqual(queries, ["page=1&page_size=2", "page_size=2&cursor=next"])

    def test_without_cursors_are_read_by_the_number_of_the_page(self) -> None:
        parley, sent, _ = client(
            success({"items": [{"_id": "a"}], "has_more": True}),
            success({"items": [{"_id": "b"}], "has_more": False}),
        )
        self.assertEqual([voice["_id"] for voice in parley.voices.list(page_size=1)], ["a", "b"])
        self.assertTrue(sent[1].full_url.endswith("?page_size=1&page_number=2"))


class BrokenAnswer(ScriptedAnswer):
    """An answer whose connection is lost at the end of what has arrived."""

    def readline(self, size: Any = -1) -> bytes:
        line = super().readline(size)
        if not line:
            raise IncompleteRead(b"")
        return line


class Events(unittest.TestCase):
    def test_are_whole_and_comments_are_left_out(self) -> None:
        stream = ': here\n\nevent: session\r\ndata: {"name":"é\u2028"}\r\n\r\ndata: 1\n\ndata: 2'
        parley, _, _ = client(ScriptedAnswer(200, stream.encode()))
        events = itertools.islice(parley.events.stream(), 2)
        self.assertEqual(list(events), [("session", {"name": "é\u2028"}), ("message", 1)])

    def test_go_on_in_a_new_stream_after_one_that_ends_or_breaks_off(self) -> None:
        ended = ScriptedAnswer(200, b"data: 1\n\n")
        broken = BrokenAnswer(200, b"data: 2\n\ndata: 3\n")
        parley, _, waits = client(ended, broken, LOST, ScriptedAnswer(200, b"data: 4\n\n"))
        data = [event.data for event in itertools.islice(parley.events.stream(), 3)]
        self.assertEqual((data, waits), ([1, 2, 4], [0.25, 0.25, 0.25]))
        self.assertTrue(ended.closed and broken.closed)

    def test_that_are_no_json_fail_and_are_not_asked_for_again(self) -> None:
        parley, sent, _ = client(ScriptedAnswer(200, b"data: {\n\n"))
        with self.assertRaises(ApiConnectionError):
            next(iter(parley.events.stream()))
        self.assertEqual(len(sent), 1)

    def test_of_a_synthesis_that_breaks_off_fail(self) -> None:
        parley, sent, _ = client(BrokenAnswer(200, b""))
        with self.assertRaises(ApiConnectionError):
            list(parley.speech.synthesize_with_timestamps(text="Hello"))
        self.assertEqual(len(sent), 1)


class Types(unittest.TestCase):
    def test_have_a_module(self) -> None:
        self.assertIn("session_id", SessionRow.__annotations__)


if __name__ == "__main__":
    unittest.main()
