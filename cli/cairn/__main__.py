"""Lets python -m cairn run the command line."""

from cairn.main import main

main()
