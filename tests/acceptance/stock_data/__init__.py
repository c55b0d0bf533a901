"""A data directory of the stock plug-in, taken through everything that a user may do with it."""
