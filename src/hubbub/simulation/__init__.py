"""Crowds that do not exist: what one would see with n people at some epsilon."""
