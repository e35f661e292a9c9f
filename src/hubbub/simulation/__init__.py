"""Crowds that do not exist: what one would see with so many people at this epsilon."""
