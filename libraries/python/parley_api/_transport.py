"""Sends the requests of the resources: address, key, timeout, repetitions, errors."""

from __future__ import annotations

import http.client
import json
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, TypeVar
from urllib.parse import quote, urlencode
from urllib.request import HTTPHandler, HTTPSHandler, ProxyHandler, UnknownHandler

from ._clock import Clock
from ._form import form_of
from ._pages import Pages
from ._retry import Failure, retry_wait
from ._server_events import ServerEvent, read_events
from ._texts import text_of
from ._version import VERSION
from .errors import ApiConnectionError, ApiTimeoutError, NotFoundError, ParleyError, TooManyRequestsError, error_of

# Wait before a stream is opened again, in seconds.
_REOPEN = 0.5
# An answer with `status`, `headers`, `read()`, `readline()` and `close()`; a context manager.
Answer = http.client.HTTPResponse
T = TypeVar("T")


class _Omitted:
    def __repr__(self) -> str:
        return "OMITTED"


# The value of an argument that was not given: None is a value of the API.
OMITTED: Any = _Omitted()


@dataclass(frozen=True)
class RequestOptions:
    """Options of one request."""

    # Seconds without a byte of the answer, for each attempt.
    timeout: Optional[float] = None
    max_retries: Optional[int] = None
    # Your own name for what the request does, such as an order's number; a random one unless set.
    idempotency_key: Optional[str] = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Call:
    """A request of a method."""

    method: str
    path: str
    query: Dict[str, Any] = field(default_factory=dict)
    body: Any = OMITTED
    is_form: bool = False
    # Sending it twice has the effect of once.
    is_repeatable: bool = False
    # The route knows `Idempotency-Key`.
    takes_key: bool = False


@dataclass(frozen=True)
class Settings:
    """What a transport needs; times in seconds."""

    api_key: str = field(repr=False)
    base_url: str
    timeout: float
    max_retries: int
    # Longer times in `Retry-After` are not waited for.
    longest_retry_after: float
    # Sends a request within a timeout. Raises OSError or HTTPException without an answer.
    send: Callable[[urllib.request.Request, float], Answer]
    clock: Clock
    # A number from 0 to 1.
    random: Callable[[], float]
    # A new idempotency key.
    new_key: Callable[[], str]


def machine_send() -> Callable[[urllib.request.Request, float], Answer]:
    """Sends by urllib, without its redirects: they would take the key to another server."""
    opener = urllib.request.OpenerDirector()
    for handler in (ProxyHandler, HTTPHandler, HTTPSHandler, UnknownHandler):
        opener.add_handler(handler())
    return lambda request, timeout: opener.open(request, timeout=timeout)


class Resource:
    """Methods of one resource."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


class Transport:
    """Sends requests, each with its own options over those of the settings."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def json(self, call: Call, options: RequestOptions) -> Any:
        """The parsed answer. Raises `ApiError` or `ApiConnectionError`."""
        return self._send(call, self._prepared(call, options), options, _parsed)

    def nothing(self, call: Call, options: RequestOptions) -> None:
        """Raises like `json`. A deletion that was repeated succeeds if the thing is gone."""
        request = self._prepared(call, options)
        self._send(call, request, options, _whole, removes=call.method == "DELETE")

    def answer(self, call: Call, options: RequestOptions) -> Answer:
        """An answer whose body is still to be read. Raises like `json`."""
        return self._send(call, self._prepared(call, options), options, lambda answer: answer)

    def events(self, call: Call, options: RequestOptions) -> Iterator[ServerEvent]:
        """
        The events of a stream. One that may be read again has no end: it is opened anew when the API ends it or
        the connection is lost. Raises like `json`, also while it is read.
        """
        settings = self._settings
        while True:
            with self.answer(call, options) as answer:
                try:
                    yield from read_events(answer)
                except (OSError, http.client.HTTPException) as error:
                    if not call.is_repeatable:
                        raise _lost(error, self._timeout(options)) from error
                except ValueError as error:
                    # A stream with an event that cannot be read would have it again.
                    raise ApiConnectionError(f"no usable answer: {error}") from error
            if not call.is_repeatable:
                return
            settings.clock.sleep(_REOPEN * (0.5 + settings.random() / 2))

    def pages(self, call: Call, options: RequestOptions, rows: str) -> Pages[Any, Any]:
        """A paged list, which is read while it is iterated."""

        def read(query: Dict[str, Any]) -> Any:
            return self.json(Call(call.method, call.path, query=query, is_repeatable=True), options)

        return Pages(read, call.query, rows)

    def download(self, url: str, options: RequestOptions) -> Answer:
        """A file at an address that needs no key, such as the signed address of a recording."""
        call = Call("GET", url, is_repeatable=True)
        request = urllib.request.Request(url, headers=dict(options.headers))
        return self._send(call, request, options, lambda answer: answer)

    def _prepared(self, call: Call, options: RequestOptions) -> urllib.request.Request:
        settings = self._settings
        headers = {"Authorization": f"Bearer {settings.api_key}", "User-Agent": f"parley-python/{VERSION}"}
        # One key for all attempts.
        if call.takes_key:
            headers["Idempotency-Key"] = options.idempotency_key or settings.new_key()
        body: Optional[bytes] = None
        if call.is_form:
            headers["Content-Type"], body = form_of(call.body)
        elif call.body is not OMITTED:
            headers["Content-Type"] = "application/json"
            body = json.dumps(call.body).encode()
        url = settings.base_url.rstrip("/") + call.path + _query_of(call.query)
        request = urllib.request.Request(url, data=body, headers=headers, method=call.method)
        for name, value in options.headers.items():
            request.add_header(name, value)
        return request

    def _send(
        self,
        call: Call,
        request: urllib.request.Request,
        options: RequestOptions,
        read: Callable[[Answer], T],
        *,
        removes: bool = False,
    ) -> T:
        """`removes`: a repetition that finds nothing has succeeded."""
        settings = self._settings
        most = settings.max_retries if options.max_retries is None else options.max_retries
        earlier = 0
        may_be_done = False
        while True:
            try:
                return self._attempt(request, options, read)
            except ParleyError as error:
                # An earlier attempt, whose answer was lost, has deleted it.
                if may_be_done and removes and isinstance(error, NotFoundError):
                    return b""  # type: ignore[return-value]
                repeatable = call.is_repeatable or call.takes_key
                failure = Failure(error, earlier, is_repeatable=repeatable, has_key=call.takes_key)
                wait = None
                if earlier < most:
                    wait = retry_wait(failure, settings.random(), settings.longest_retry_after)
                if wait is None:
                    raise
                may_be_done = may_be_done or not isinstance(error, TooManyRequestsError)
            settings.clock.sleep(wait)
            earlier += 1

    def _attempt(
        self, request: urllib.request.Request, options: RequestOptions, read: Callable[[Answer], T]
    ) -> T:
        settings = self._settings
        timeout = self._timeout(options)
        try:
            answer = settings.send(request, timeout)
            if 200 <= answer.status < 300:
                return read(answer)
            body = _whole(answer)
        except (OSError, http.client.HTTPException) as error:
            raise _lost(error, timeout) from error
        raise error_of(answer.status, answer.headers, body, settings.clock.wall_time())

    def _timeout(self, options: RequestOptions) -> float:
        return self._settings.timeout if options.timeout is None else options.timeout


def _lost(error: Exception, timeout: float) -> ApiConnectionError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, socket.timeout):
        return ApiTimeoutError(f"no answer within {timeout} s")
    return ApiConnectionError(f"no usable answer: {reason}")


def route(template: str, *parameters: Any) -> str:
    """A path with its parameters. Raises `ValueError` for one that would name another route."""
    texts = [str(parameter) for parameter in parameters]
    for text in texts:
        if text in ("", ".", ".."):
            raise ValueError(f"{text!r} is no id")
    return template.format(*(quote(text, safe="") for text in texts))


def given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """The arguments that were given."""
    return {name: value for name, value in arguments.items() if value is not OMITTED}


def _whole(answer: Answer) -> bytes:
    with answer:
        return answer.read()


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(_whole(answer))
    except ValueError as error:
        raise ApiConnectionError(f"no usable answer: {error}") from error


def _query_of(query: Dict[str, Any]) -> str:
    entries = [
        (name, text_of(item))
        for name, value in query.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]
    return f"?{urlencode(entries)}" if entries else ""
