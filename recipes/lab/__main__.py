"""Command line of recipes: ``python -m recipes.lab COMMAND RECIPE ...``, in the checkout."""

import argparse
import contextlib
import inspect
import os
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from recipes.lab.arms import Recipe, load
from recipes.lab.settings import ROOT, SHARED, SHELL, UserError, set_threads

STARTED = time.monotonic()


def shell(recipe: Recipe, options: argparse.Namespace) -> int:
    """Print settings and folders as shell assignments, for common.sh."""
    names = {"WORK": recipe.work, "RESULTS": recipe.results, "LEDGER": str(recipe.ledger)}
    for name, value in {**recipe.settings, **names, **recipe.shell()}.items():
        print(f"{name}={shlex.quote(value)}")
    return 0


def settings(recipe: Recipe, options: argparse.Namespace) -> int:
    """Print every setting with its value and meaning; set them in the environment."""
    for name, (_, meaning) in {**recipe.declared, **SHARED, **SHELL}.items():
        if name in recipe.without:
            continue
        value = recipe.settings.get(name, os.environ.get(name, ""))
        given = f"{name}={shlex.quote(value) if value else ''}"
        print(f"{given:<28}  {meaning}".rstrip())
    return 0


def arms(recipe: Recipe, options: argparse.Namespace) -> int:
    """Print the description and training options of each arm."""
    for name in options.names or recipe.arms():
        arm = recipe.arm(name)
        print(f"{name}: {arm.description}\n  {arm.data}: {shlex.join(arm.train)}")
    return 0


def ask(recipe: Recipe, options: argparse.Namespace) -> int:
    """Call a method of the recipe: `ask pappas2018_joint training_text de-en`."""
    name, *arguments = options.names or [""]
    if not callable(method := getattr(recipe, name, None)):
        raise UserError(f"{recipe.name} has no '{name}' to ask for")
    signature = inspect.signature(method)
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise UserError(f"{name}{signature}: {error}") from None
    found = method(*arguments)
    if found is None:
        raise UserError(f"{name} returns nothing to print")
    for line in [found] if isinstance(found, str) else found:
        print(line)
    return 0


def run(recipe: Recipe, options: argparse.Namespace) -> int:
    """Train, score and record arms with every seed; arms that others depend on first."""
    from recipes.lab.ledger import KINDS
    from recipes.lab.running import run_arm
    from recipes.lab.running.process import CommandFailed

    if options.names is None:
        options.names = recipe.arms()
    # Invalid names and missing data are reported before anything is trained.
    later = {name for name in options.names if recipe.arm(name).goes_on_from}
    for name in options.names:
        require_data(recipe, recipe.arm(name).data)
    kind, force = recipe.settings.choice("KIND", KINDS), recipe.settings.flag("FORCE")
    require_writable(recipe.ledger.parent)
    place = run_arm.Place(recipe.ledger, Path(recipe.work, "runs"))
    pairs = [(name, seed) for seed in recipe.seeds for name in options.names]
    failed, missing = [], []
    for name, seed in sorted(pairs, key=lambda pair: pair[0] in later):
        print(f"\n== arm {name}, seed {seed}", flush=True)
        if not within_budget(recipe, name):
            continue
        try:
            arm = recipe.arm(name, seed)
            if arm.goes_on_from and not arm.train[-1]:
                raise run_arm.MissingRun(f"not started, because it goes on from {arm.goes_on_from}")
            run_arm.execute(run_arm.Run(arm, seed, place, kind), force)
        except run_arm.MissingRun as why:
            print(f"  {why}")
            missing.append(name)
        # A failed arm does not stop the others.
        except (CommandFailed, ValueError, OSError) as error:
            if is_unprepared(recipe, error):
                raise  # for all arms
            kind_of_error = "" if is_told(error) else f"{type(error).__name__}: "
            print(f"{name}: {kind_of_error}{error}", file=sys.stderr)
            failed.append(name)
    if failed:
        raise UserError(f"failed: {' '.join(failed)} (their logs are in {place.runs})")
    # A step that decodes asks for the models that ARMS leaves out, too.
    chosen, wanted = set(recipe.settings.words("ARMS")), list(dict.fromkeys(missing))
    if chosen:
        wanted = [name for name in wanted if chosen & {name, *models_of(recipe, name)}]
    if wanted and len(missing) == len(pairs):
        raise UserError(f"nothing could run, see above: {' '.join(wanted)}")
    return 0


def models_of(recipe: Recipe, name: str) -> tuple[str, ...]:
    """The trained arms that an arm decodes, if any."""
    decoding = recipe.arm(name).decoding
    return decoding.of if decoding else ()


def is_told(error: BaseException) -> bool:
    """Whether the message of an error says all that its reader needs."""
    from recipes.lab.running.process import CommandFailed
    from recipes.lab.scores.scoring import Incomplete

    if isinstance(error, (UserError, CommandFailed, Incomplete)):
        return True
    # Imported for other errors only: it imports fairseq.
    from fairseq_outlayers.errors import UserError as ErrorOfThePackage

    return isinstance(error, ErrorOfThePackage)


def require_data(recipe: Recipe, folder: str) -> None:
    """Refuse to start without binarized data."""
    if not Path(folder).is_dir():
        raise UserError(f"no {folder}{preparation_hint(recipe)}")


def preparation_hint(recipe: Recipe) -> str:
    """The end of a message about data that is missing."""
    return recipe.preparation and f": {recipe.preparation}"


def is_unprepared(recipe: Recipe, error: Exception) -> bool:
    """Whether an error says that a file of the recipe's work folder is missing."""
    name = getattr(error, "filename", None)
    return isinstance(error, FileNotFoundError) and str(name).startswith(f"{recipe.work}/")


def require_writable(folder: Path) -> None:
    """Refuse to start with a folder for results in which nothing can be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(
            f"{folder}: cannot write results there ({error.strerror}); set OUTLAYERS_RESULTS to "
            "another folder"
        ) from error


def seconds_used() -> float:
    """Seconds since run.sh or a step of its own was started (common.sh), or else this process."""
    started = os.environ.get("OUTLAYERS_STARTED", "")
    if started.isascii() and started.isdecimal():
        return time.time() - int(started)
    return time.monotonic() - STARTED


def within_budget(recipe: Recipe, name: str) -> bool:
    """Whether the time budget allows another arm."""
    budget, gone = recipe.settings.TIME_BUDGET, seconds_used()
    if not budget or gone < recipe.settings.whole("TIME_BUDGET"):
        return True
    print(f"  not started, {gone:.0f} s of TIME_BUDGET={budget} are used: {name}")
    return False


def speed(recipe: Recipe, options: argparse.Namespace) -> int:
    """Compare training speed and memory of arms that run alternately."""
    from recipes.lab.running import speed

    output = Path(recipe.results, recipe.speed_file)
    if recipe.measured(output):
        return 0
    data, groups = recipe.speed_groups()
    require_data(recipe, data)
    updates = recipe.settings.whole("SPEED_UPDATES", least=1)
    rounds = recipe.settings.whole("SPEED_ROUNDS", least=1)
    measure = speed.of_training(groups, data, Path(recipe.work, output.stem), updates, recipe.stock)
    rows = speed.take_turns(list(groups), rounds, measure)
    speed.write(output, rows, groups, "tokens_per_second", 0)
    return 0


def files(recipe: Recipe, options: argparse.Namespace) -> int:
    """Print the path of a file of each arm's first run that has it: FILE ARM...

    One path per line; with --names, ARM=PATH; with --all-seeds, for every run.
    """
    from recipes.lab.ledger import read
    from recipes.lab.repeats import without_begun_repeats
    from recipes.lab.running.run_arm import is_begun_anew
    from recipes.lab.runs import Runs

    if not options.names:
        raise UserError("files needs the name of a file in the run folders, such as train.log")
    runs = Runs(without_begun_repeats(read(recipe.ledger)))
    file, *names = options.names
    known = {*runs.arms, *recipe.all_arms(), *recipe.report_arms()}
    for arm in names:
        if arm not in known:
            raise recipe.unknown(arm)
        paths = [path for path in runs.files(arm, file) if not is_begun_anew(path)]
        for path in paths if options.all_seeds else paths[:1]:
            # Relative paths, because results must not depend on the checkout's location.
            shown = str(path).replace(f"{ROOT}/", "")
            print(f"{arm}={shown}" if options.names_too else shown)
    return 0


def report(recipe: Recipe, options: argparse.Namespace) -> int:
    """Write tables, claims and figures from the ledger."""
    from recipes.lab.pages import report

    report.write(recipe)
    return 0


def curves(recipe: Recipe, options: argparse.Namespace) -> int:
    """Store validation perplexities over training with the ledger: CHECKOUT... with the runs."""
    from recipes.lab import ledger
    from recipes.lab.figures import training_curves

    checkouts = [Path(name) for name in options.names or [ROOT]]
    for checkout in checkouts:
        if not checkout.is_dir():
            raise UserError(f"{checkout}: no such folder: give a checkout with runs, from {ROOT}")
    entries = ledger.read(recipe.ledger)
    print(f"  {training_curves.keep(entries, recipe.ledger.parent, checkouts)} curves added")
    return 0


def release(recipe: Recipe, options: argparse.Namespace) -> int:
    """Write the best run in validation as a small checkpoint with a model card (work/release/)."""
    from recipes.lab.running import release

    for path in release.write(recipe, options.names or None):
        print(f"  {path}")
    return 0


COMMANDS: dict[str, Callable[[Recipe, argparse.Namespace], int]] = {
    command.__name__: command
    for command in (settings, arms, run, speed, report, curves, release, files, ask, shell)
}


WITHOUT_NAMES = ("settings", "speed", "report", "shell")


def call(recipe: Recipe, options: argparse.Namespace) -> int:
    """Run the command of a command line."""
    if options.names and options.command in WITHOUT_NAMES:
        surplus = " ".join(options.names)
        raise UserError(f"{surplus}: {options.command} takes only the recipe: leave it out")
    return COMMANDS[options.command](recipe, options)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; user errors are one line."""
    lines = [f"  {name:9} {(c.__doc__ or '').splitlines()[0]}" for name, c in COMMANDS.items()]
    parser = argparse.ArgumentParser(
        prog="python -m recipes.lab",
        description=__doc__,
        epilog="\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help="see below")
    parser.add_argument("recipe", help="a folder in recipes/")
    parser.add_argument(
        "names", nargs="*", default=[], help="arguments, such as arms (run: default all)"
    )
    parser.add_argument(
        "--these", action="store_true", help="use these names, even if there are none"
    )
    parser.add_argument(
        "--names", dest="names_too", action="store_true", help="files: print ARM=PATH"
    )
    parser.add_argument("--all-seeds", action="store_true", help="files: of every seed")
    options = parser.parse_intermixed_args(arguments)
    if options.command == "run" and not options.names and not options.these:
        options.names = None
    return run_command(options.recipe, lambda recipe: call(recipe, options))


def run_command(name: str, does: Callable[[Recipe], int | None]) -> int:
    """Call a function with a recipe; user errors are one line with exit code 1."""
    os.chdir(ROOT)
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # reports have characters beyond ASCII
    recipe = None
    try:
        set_threads(os.environ)  # before torch is imported
        recipe = load(name)
        return does(recipe) or 0
    except KeyboardInterrupt:
        later = (recipe or Recipe).after_interrupt
        print(f"{name}: interrupted; the same command {later}", file=sys.stderr)
        return 130
    except FileNotFoundError as error:
        if recipe is None or not is_unprepared(recipe, error):
            raise
        hint = preparation_hint(recipe)
        print(f"{name}: {error.filename}: no such file{hint}", file=sys.stderr)
        return 1
    except (RuntimeError, ValueError) as error:
        if not is_told(error):
            raise
        print(f"{name}: {error}", file=sys.stderr)
        return 1


def step(name: str, does: Callable[[Recipe], int | None]) -> None:
    """Main function of a recipe's own program; exits."""
    sys.exit(run_command(name, does))


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
