"""What ./cairn top and ./cairn report share: a server's figures, and what two readings tell."""
