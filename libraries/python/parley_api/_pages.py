"""Paged lists."""

from __future__ import annotations

from typing import Any, Callable, Dict, Generic, Iterator, Optional, TypeVar

P = TypeVar("P")
R = TypeVar("R")


class Pages(Generic[P, R]):
    """
    A list of the API. Iterating reads its rows, page by page as they are needed; `page()` reads only the
    first, and `pages()` reads all.
    """

    def __init__(self, read: Callable[[Dict[str, Any]], Any], query: Dict[str, Any], rows: str) -> None:
        self._read = read
        self._query = query
        self._rows = rows

    def page(self) -> P:
        """The page that the query asks for."""
        return self._read(self._query)

    def pages(self) -> Iterator[P]:
        """That page and all after it."""
        query: Optional[Dict[str, Any]] = self._query
        while query is not None:
            page = self._read(query)
            yield page
            query = _following(page, query)

    def __iter__(self) -> Iterator[R]:
        for page in self.pages():
            yield from page[self._rows]  # type: ignore[index]


def _following(page: Any, query: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """The query of the next page: by cursor, or of a list without cursors by number."""
    if not page.get("has_more"):
        return None
    if page.get("next_cursor"):
        return {**query, "page": None, "cursor": page["next_cursor"]}
    return {**query, "page_number": int(query.get("page_number") or 1) + 1}
