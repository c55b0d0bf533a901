"""./cairn bench: Cairn, InnoDB and the stock plug-in side by side."""
