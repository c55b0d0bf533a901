"""A directory goes from the stock plug-in to Cairn and back."""
