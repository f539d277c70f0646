"""What the commands of data_prep/ share.

The commands are scripts run by path (``python data_prep/NAME.py``). Python puts a script's folder
first on its search path, so this package is imported as ``lib``. It adds this checkout's
``fairseq_outlayers`` to the path, whose ``formats`` the commands use.
"""

import sys
from pathlib import Path

sys.path.insert(1, str(Path(__file__).resolve().parents[2]))
