"""Multipart forms (RFC 7578)."""

from __future__ import annotations

import json
import secrets
from typing import Any, Dict, List, Tuple

from ._texts import text_of


def form_of(body: Dict[str, Any]) -> Tuple[str, bytes]:
    """
    A body as a form, with its Content-Type: files and texts as they are, lists as repeated fields, objects as
    JSON. A file is bytes, or its name and its bytes; without a name it is called after its field.
    """
    boundary = secrets.token_hex(16)
    parts: List[bytes] = []
    for name, value in body.items():
        for item in value if isinstance(value, list) else [value]:
            if item is not None:
                parts.append(_part(boundary, name, item))
    parts.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(parts)


def _part(boundary: str, name: str, value: Any) -> bytes:
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quoted(name)}"'
    if isinstance(value, bytes):
        value = (name, value)
    if isinstance(value, tuple):
        file_name, content = value
        head += f'; filename="{_quoted(file_name)}"\r\nContent-Type: application/octet-stream'
    else:
        content = (json.dumps(value) if isinstance(value, dict) else text_of(value)).encode()
    return head.encode() + b"\r\n\r\n" + content + b"\r\n"


def _quoted(text: str) -> str:
    return text.replace('"', "%22").replace("\r", "%0D").replace("\n", "%0A")
