"""Run the command line as `python -m hubbub`."""

from hubbub.cli.main import run

run()
