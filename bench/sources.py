"""The source text of the harness as this process found it when it started, and short hashes of it.

`bench/__init__.py` imports this module before anything else, so that the text is read before the code that it belongs
to is imported. What is edited later changes neither the code that runs nor the hashes here.
"""

import ast
import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds `conf`, `bench`, `normalizers`, `datasets` and `analysis`."""
PACKAGES = ("bench", "normalizers", "datasets")
"""The packages whose code makes a record."""
NATIVE = (".c", ".h")
DIGITS = 12

Files = Mapping[str, bytes]
"""Path below some folder, with forward slashes -> content."""
Part = Callable[..., object]
"""A class or function that does a part of a run."""


def read_all(root: Path = ROOT) -> Files:
    """Every source file of `PACKAGES` below `root`. Some 100 files, 5 ms."""
    return _read(root, (path for package in PACKAGES for path in (root / package).rglob("*")))


def _read(root: Path, paths: Iterable[Path]) -> Files:
    hidden = "."  # editors leave such files beside one that is open, also links to nothing
    chosen = sorted(path for path in paths if path.suffix in (".py", *NATIVE) and not path.name.startswith(hidden))
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in chosen}


AT_START = read_all()


def imported() -> str | None:
    """The hash of the whole source, for a module to call when it has imported all others.

    None where a file was changed since the process started: which version of it was imported cannot be told.
    """
    return short_hash(AT_START) if read_all() == AT_START else None


def short_hash(files: Files) -> str:
    """12 hexadecimal digits of a sha256 over the names and the contents of `files`."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:DIGITS]


def is_foreign(part: Part) -> bool:
    """Whether `part` is defined outside the project's packages."""
    return part.__module__.partition(".")[0] not in PACKAGES


@cache
def of(part: Part) -> str:
    """The hash of the module that defines `part` and of the modules of its package that it uses, directly or not.

    C files beside these modules are hashed with them. A module that lies in no package uses the modules beside it.
    Raises ValueError where the module of `part` has no source file, as in an interactive session.
    """
    if is_foreign(part):
        return short_hash(_used(*_beside(part)))
    package = part.__module__.partition(".")[0]
    return short_hash(_used(part.__module__, {n: text for n, text in AT_START.items() if n.startswith(f"{package}/")}))


def _beside(part: Part) -> tuple[str, Files]:
    """The module of `part`, and the source of its package, or of its folder where it lies in no package."""
    top, *inner = part.__module__.split(".")
    try:
        path = Path(inspect.getsourcefile(part) or "").resolve()
    except TypeError:  # its module is not among those that are imported
        path = Path()
    if not path.is_file():
        raise ValueError(f"{part.__qualname__} comes from no source file; define it in a module of its own")
    if not inner and path.stem != "__init__":
        return path.stem, _read(path.parent, path.parent.iterdir())
    root = path.parents[len(inner) + (path.stem == "__init__")]
    return part.__module__, _read(root, (root / top).rglob("*"))


def _used(module: str, files: Files) -> Files:
    """Those of `files` that are `module` or imported by it, directly or not, and the C files beside them."""
    pending, found = [module], {}
    while pending:
        name = pending.pop()
        file = _file(name, files)
        if file is None or file in found:
            continue
        found[file] = files[file]
        package = name if file.endswith("__init__.py") else name.rpartition(".")[0]
        pending += _imports(ast.parse(files[file]), package, files)
    folders = {file.rpartition("/")[0] for file in found}
    return found | {file: files[file] for file in files if file.endswith(NATIVE) and file.rpartition("/")[0] in folders}


def _file(module: str, files: Files) -> str | None:
    """The name among `files` of the source of `module`."""
    path = module.replace(".", "/")
    return next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in files), None)


def _imports(tree: ast.AST, package: str, files: Files) -> Iterator[str]:
    """The names of the modules that a module in `package` may import, anywhere in its code."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".") if node.level else []
            base = ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])
            inner = [f"{base}.{alias.name}" for alias in node.names]  # a module of a package, or a name in a module
            yield from (name if _file(name, files) else base for name in inner)
