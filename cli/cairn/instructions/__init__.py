"""./cairn instructions: how many instructions a statement takes, which is the same on every machine."""
