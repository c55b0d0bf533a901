"""./cairn acceptance faults: calls of the engine fail on demand."""
