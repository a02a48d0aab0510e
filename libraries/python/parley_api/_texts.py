"""Values as texts of queries and forms."""

from __future__ import annotations

from typing import Any


def text_of(value: Any) -> str:
    """Booleans as the API has them."""
    return str(value).lower() if isinstance(value, bool) else str(value)
