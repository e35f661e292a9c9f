"""Settings for all tests: hypothesis draws the same examples each time and never fails for being slow."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("gate", derandomize=True, deadline=None, database=None)
settings.load_profile("gate")
