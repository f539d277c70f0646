"""Write the table of host waits: ``python -m tests.devices.count``."""

import json

from tests.contract.test_devices import CASES, on_device
from tests.devices.training import TABLE


def main() -> None:
    """Count every case on the pretended device."""
    table = {}
    for name in CASES:
        _, waits, uploads = on_device("pretended", name)
        table[name] = {
            "waits": dict(sorted(waits.items())),
            "uploads": dict(sorted(uploads.items())),
        }
    TABLE.write_text(json.dumps(table, indent=1) + "\n")
    print(TABLE)


if __name__ == "__main__":
    main()
