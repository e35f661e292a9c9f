"""Sealed reports: what a relay passes on without being able to read it. Standard library, and cryptography to open."""
