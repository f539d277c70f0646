"""Mutation testing of one module at a time: which small changes do the tests not notice?

    python -m tests.mutation                        # all of SUITES
    python -m tests.mutation losses/sampled.py samplers/base.py

Every mutant differs from the module in one place (``mutants.py`` lists the operators) and exists
in the memory of a forked process only, which runs the tests of ``SUITES`` that reach the line,
until one fails. A mutant that no test notices survives; tests/README.md explains some.
"""

import argparse
import ast
import gc
import importlib.machinery
import inspect
import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import pytest

from tests.mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "fairseq_outlayers"
SECONDS = 240.0  # that a mutant may run
PASSED = "passed"
CONTRACT = ["tests/unit/criterions/test_sampled_softmax.py", "tests/contract/test_samplers.py"]
# Modules, by a pattern, and the tests that cover them, quick ones first.
SUITES: Dict[str, List[str]] = {
    "losses/*.py": [
        "tests/unit/losses",
        "tests/unit/criterions/test_full_softmax.py",
        "tests/unit/optim/test_amp.py",
        *CONTRACT,
    ],
    "samplers/*.py": ["tests/unit/samplers", *CONTRACT],
    "tables/*.py": [
        "tests/unit/tables",
        "tests/unit/source_embeddings",
        "tests/unit/output_layers/test_external_joint.py",
        "tests/unit/optim/test_lazy_adam.py",
        "tests/contract/test_row_sparse.py",
        "tests/contract/test_partitions.py",
    ],
    "partitions/*.py": [
        "tests/unit/partitions",
        "tests/unit/criterions/test_partition_softmax.py",
        "tests/contract/test_partitions.py",
    ],
}


class Run:
    """A pytest plugin: instead of running the tests once, runs them for every mutant.

    The tests are collected, and the package imported, once. Each mutant then lives in a forked
    process, where its code objects take the place of the module's.
    """

    def __init__(self, path: Path, mutants: List[Mutant]):
        self.path, self.mutants = path, mutants
        self.survivors: List[Mutant] = []

    def pytest_runtestloop(self, session: Any) -> bool:
        items = session.items
        covering = json.loads(
            in_fork(lambda: json.dumps(measure(self.path, items)), 3600) or "null"
        )
        if covering is None:
            raise RuntimeError(f"{self.path}: a test fails without a change")
        for mutant in self.mutants:
            numbers = covering.get(str(mutant.line)) or range(len(items))
            chosen = [items[number] for number in numbers]
            if in_fork(lambda: self._outcome(mutant, chosen), SECONDS) == PASSED:  # noqa: B023
                self.survivors.append(mutant)
        return True

    def _outcome(self, mutant: Mutant, items: List[Any]) -> str:
        replace_code(self.path, mutant.tree)
        return PASSED if run_items(items) else "failed"


def in_fork(function: Callable[[], str], seconds: float, quiet: bool = True) -> str:
    """What a function returns in a process of its own; nothing if it dies or takes too long."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        if quiet:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
        try:
            result = function().encode()
            sys.stdout.flush()
            with open(writing, "wb") as pipe:
                pipe.write(result)
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], seconds)
    if not ready:
        os.killpg(child, signal.SIGKILL)
    with open(reading, "rb") as pipe:
        result = pipe.read().decode()
    os.waitpid(child, 0)
    return result


def run_items(items: List[Any]) -> bool:
    """Run tests up to the first that fails; whether there is none."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return False
    return True


def measure(path: Path, items: List[Any]) -> Optional[Dict[int, List[int]]]:
    """The numbers of the tests that run each line of a module, quick ones first."""
    lines: Set[int] = set()

    def local(frame, event, argument):  # type: ignore[no-untyped-def]
        lines.add(frame.f_lineno)
        return local

    def trace(frame, event, argument):  # type: ignore[no-untyped-def]
        if frame.f_code.co_filename != str(path):
            return None
        return local(frame, event, argument)

    found: List[Tuple[float, int, Set[int]]] = []
    for number, item in enumerate(items):
        lines.clear()
        start = time.perf_counter()
        sys.settrace(trace)
        passed = run_items([item])
        sys.settrace(None)
        if not passed:
            return None
        found.append((time.perf_counter() - start, number, set(lines)))
    covering: Dict[int, List[int]] = {}
    for _, number, touched in sorted(found, key=lambda entry: entry[0]):
        for line in touched:
            covering.setdefault(line, []).append(number)
    return covering


def codes(code: CodeType) -> Iterator[CodeType]:
    """All code objects in one, without those within functions, which follow their function."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & inspect.CO_OPTIMIZED:
                yield constant
            else:  # of a class
                yield from codes(constant)


def replace_code(path: Path, tree: ast.Module) -> None:
    """Give every function that was made of a module the code that it has in a mutant."""
    new = {code.co_qualname: code for code in codes(compile(tree, str(path), "exec"))}
    gc.unfreeze()  # tests/conftest.py hides what is imported from the collector
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            function.__code__ = new.get(function.__qualname__, function.__code__)


def changes_functions(path: Path, source: str, tree: ast.Module) -> bool:
    """Whether a mutant differs within a function, and not in what runs at import."""
    before, after = (compile(kind, str(path), "exec") for kind in (source, tree))
    return list(codes(before)) != list(codes(after))


def import_instead(path: Path, tree: ast.Module) -> None:
    """Let the module be imported as a mutant."""
    plain = importlib.machinery.SourceFileLoader.get_code

    def get_code(loader, name):  # type: ignore[no-untyped-def]
        if Path(loader.get_filename(name)) == path:
            return compile(tree, str(path), "exec")
        return plain(loader, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", metavar="FOLDER/FILE.py", help="below the package")
    asked = parser.parse_args().modules
    os.chdir(ROOT)
    import fairseq.models  # once, for all processes
    import fairseq.sequence_generator  # noqa: F401
    import torch

    torch.set_num_threads(1)
    for pattern, tests in SUITES.items():
        for path in sorted(PACKAGE.glob(pattern)):
            name = str(path.relative_to(PACKAGE))
            if path.name != "__init__.py" and (not asked or name in asked):
                in_fork(lambda: mutate(path, tests), 36_000, quiet=False)  # noqa: B023


def mutate(path: Path, tests: List[str]) -> str:
    """Print what survives of one module."""
    quiet = ["-o", "addopts=", "-p", "no:terminal", "-p", "no:cacheprovider"]
    options = [*quiet, "-x", "-m", "not gpu and not system", *tests]
    source = path.read_text(encoding="utf-8")
    every = list(mutants(source))
    within = [mutant for mutant in every if changes_functions(path, source, mutant.tree)]

    def at_import(mutant: Mutant) -> str:
        import_instead(path, mutant.tree)
        return PASSED if pytest.main(options) == pytest.ExitCode.OK else "failed"

    survivors = []
    for mutant in every:
        if mutant not in within and in_fork(lambda: at_import(mutant), SECONDS) == PASSED:  # noqa: B023
            survivors.append(mutant)
    run = Run(path, within)
    in_process = pytest.main(options, plugins=[run])
    assert in_process == pytest.ExitCode.OK
    name = path.relative_to(PACKAGE)
    for mutant in survivors + run.survivors:
        print(f"{name}:{mutant.line}: {mutant.change}")
    print(f"{name}: {len(every) - len(survivors) - len(run.survivors)} of {len(every)} killed")
    return ""


if __name__ == "__main__":
    main()
