"""Part of ./cairn hunt: what the binary log makes of random changes elsewhere."""
