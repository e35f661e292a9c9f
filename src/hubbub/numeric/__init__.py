"""Randomness, samplers, hashing, transforms and algebra: functions of arrays, with no state of their own."""
