"""Checks of randomisers from outside: exact, by running them on every class of random words, and by guessing games."""
