"""Bytes: version first, little-endian, fixed sizes, nothing left over."""
