"""hubbub."""
