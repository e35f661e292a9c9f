"""From tallies to answers for people."""
