"""Makes the packages cairn (in cli/) and tests importable however pytest is started."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT)]
