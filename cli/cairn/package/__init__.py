"""The Debian package of Cairn: ./cairn package."""
