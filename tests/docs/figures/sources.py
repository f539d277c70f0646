"""All sources of statements."""

from importlib import import_module
from pathlib import Path

# Modules without sources are what the others use.
NAMES = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))
MODULES = [import_module(f"{__package__}.{name}") for name in NAMES if name != "sources"]
SOURCES = [source for module in MODULES for source in getattr(module, "SOURCES", ())]
