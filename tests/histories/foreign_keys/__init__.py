"""./cairn histories --foreign-keys: random changes of parents and children, and no orphan ever."""
