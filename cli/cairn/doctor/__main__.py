"""cairn-doctor, as the package has it: python3 -m cairn.doctor."""

from __future__ import annotations

import sys

from cairn.doctor.options_of_command import doctor


def main() -> None:
    """Runs the command; an interrupt ends it as it does other programs."""
    try:
        doctor.main(prog_name="cairn-doctor")
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
