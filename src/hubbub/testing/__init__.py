"""Checks of what every mechanism promises, for anybody to run, and exact statistical assertions."""

from hubbub.testing.assertions import (
    FALSE_ALARM,
    assert_binomial,
    assert_mean_zero,
    assert_same_law,
    assert_unit_spread,
)
from hubbub.testing.conformance import CHECKS, MakeSurvey, check_mechanism, crowd_items, public_seed, some_items

__all__ = [
    "CHECKS",
    "FALSE_ALARM",
    "MakeSurvey",
    "assert_binomial",
    "assert_mean_zero",
    "assert_same_law",
    "assert_unit_spread",
    "check_mechanism",
    "crowd_items",
    "public_seed",
    "some_items",
]
