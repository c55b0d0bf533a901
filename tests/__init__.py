"""The checks that run longer than a unit test: what is behind ./cairn crash, hunt and others.

They use the package cairn. Of that only cairn/commands and cairn/testing.py, the doors, use them.
"""
