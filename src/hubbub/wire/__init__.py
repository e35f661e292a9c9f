"""Binary formats: version byte first, little-endian, fixed sizes, no trailing bytes."""
