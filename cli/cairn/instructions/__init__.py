"""./cairn instructions: how many instructions statements take, the same on every machine."""
