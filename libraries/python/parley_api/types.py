"""The types of the API: bodies, answers and the payloads of webhooks."""

from ._generated.types import *  # noqa: F403
