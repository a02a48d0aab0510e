"""Time, for the library: tests hand in a clock of their own."""

from __future__ import annotations

import time


class Clock:
    """The machine's clock."""

    def wall_time(self) -> float:
        """Seconds since 1970-01-01T00:00:00Z."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Returns after this time."""
        time.sleep(seconds)
