"""Pack the Python modules that the "Try it" page loads. lay_out.mjs runs this script in Pyodide.

It runs when the documentation is built. The folders /0, /1 and /2 have this package, idna and the
page's questions. The script imports everything that core imports, also late, and asks about a host
that is not ASCII, because idna loads its tables only then. It then compiles every module that is
loaded, with the same Python, and leaves out the rest of the standard library.
"""

import ast
import importlib
import marshal
import pkgutil
import sys
import zipfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

sys.path[:0] = ["/0", "/1", "/2"]
questions = importlib.import_module("questions")
core = importlib.import_module("scrapy_gbot_robots.core")

for room in pkgutil.iter_modules(core.__path__):
    module = importlib.import_module(f"{core.__name__}.{room.name}")
    for node in ast.walk(ast.parse(Path(module.__file__).read_bytes())):
        if isinstance(node, ast.ImportFrom) and not node.level:
            importlib.import_module(node.module)
questions.verdicts(b"", None, "https://exämple.com/\nhttps://faß.example/".encode(), "")

with zipfile.ZipFile("/packed.zip", "w") as packed:
    for name, module in sorted(sys.modules.items()):
        loader, file = getattr(module, "__loader__", None), getattr(module, "__file__", None) or ""
        if file.endswith(".py") and hasattr(loader, "get_source") and "Frozen" not in str(loader):
            code = compile(loader.get_source(name), file, "exec", optimize=2, dont_inherit=True)
            path = name.replace(".", "/") + ("/__init__" if hasattr(module, "__path__") else "")
            entry = zipfile.ZipInfo(
                f"{path}.pyc"
            )  # Its date is in 1980, so that equal builds have equal bytes.
            packed.writestr(entry, MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
