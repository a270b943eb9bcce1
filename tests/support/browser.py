"""Open pages in Chromium, and check their accessibility with axe-core."""

import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
QUIET = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking".split()
QUIET += "--disable-component-update --disable-sync".split()


def dom(path: Path, fragment: str, place: Path, *flags: str) -> str:
    """Return the document of a page, as HTML, after Chromium has run the page's script.

    Args:
        path: the file with the page.
        fragment: the text after "#" in the URL.
        place: a directory for Chromium's profile.
        flags: further flags of Chromium.
    """
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    options = ["--virtual-time-budget=20000", f"--user-data-dir={place / 'profile'}", "--dump-dom"]
    command = [CHROMIUM, "--headless", *QUIET, *flags, *options, f"{path.as_uri()}#{fragment}"]
    return subprocess.run(command, capture_output=True, timeout=120, check=True).stdout.decode()


def violations(path: Path, place: Path, *, dark: bool = False) -> str:
    """Return the names of the rules of axe-core that the page breaks, on a desktop with a mouse.

    `path` is the file with the page, and `place` is a directory for Chromium's profile. If `dark`
    is true, the page is shown in the dark colour scheme.
    """
    why = "axe-playwright-python is not installed"
    package = pytest.importorskip("axe_playwright_python", reason=why)
    axe = (files(package) / "axe.min.js").read_text("utf-8").replace("</script", "<\\/script")
    ask = (
        f"<script>{axe}</script><script>setTimeout(async () => {{ const {{ violations, passes }} = await axe.run();"
        "document.title = `passed ${passes.length}; violated ${violations.map((each) => each.id)}.`; }, 1000)</script></body>"
    )
    # The page's Content-Security-Policy would forbid the script of axe-core, so it is removed.
    html = re.sub("<meta http-equiv[^>]*>", "", path.read_text(encoding="utf-8"))
    if dark:
        html = html.replace("</body>", "<style>:root { color-scheme: dark }</style></body>")
    asking = path.with_stem(f"{path.stem}-axe-{dark}")
    asking.write_text(html.replace("</body>", ask), encoding="utf-8")
    devices = f"primaryHoverType=2,availableHoverTypes=2,preferredColorScheme={0 if dark else 1}"
    shown = dom(asking, "", place, f"--blink-settings={devices}")
    found = re.search(r"<title>passed (\d+); violated ([^<]*)\.</title>", shown)
    assert found is not None
    assert int(found[1]) > 20
    return found[2]
