"""The command line of Cairn: everything behind ./cairn."""
