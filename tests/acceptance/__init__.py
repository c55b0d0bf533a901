"""./cairn acceptance: what takes too long, or needs too much of the machine, for ./cairn test."""
