"""Part of ./cairn hunt: sessions that meet, in scripted interleavings and in free ones."""
