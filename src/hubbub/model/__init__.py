"""The words of hubbub as types: numpy and the standard library only."""
