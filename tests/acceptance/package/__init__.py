"""./cairn package --test: the package in a clean Debian 12, as a person would use it."""
