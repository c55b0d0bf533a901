"""Cairn into a server that runs, without a package: ./cairn install and ./cairn uninstall."""
