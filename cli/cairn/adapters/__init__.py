"""cairn-adapters: a build of Cairn for a server that the package has none for, made where it runs.

Needs the standard library of Python alone, and of the other modules those that need no more.
"""
