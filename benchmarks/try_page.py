"""What the page "Try it" costs: `python -m benchmarks.try_page` prints its figures.

It builds the documentation's site (npm's Pyodide has to be under build/, see MAINTAINING.md),
serves it on loopback, and uses the page in Chromium. A gap of the main thread is the longest time
between two ticks of a timer that ticks as often as it can.
"""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import brotli
from playwright.sync_api import sync_playwright

from tests.core.test_hostile import HOSTILE_BODIES
from tests.support.browser import CHROMIUM
from tests.support.site import SiteServer, built_site
from tests.support.try_page import TryPage

RUNS = 3
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip")
ORDINARY = "User-agent: *\n" + "".join(f"Disallow: /{word}/\n" for word in range(60))

# Ticks as often as the main thread lets it, and keeps the longest gap.
GAPS = """() => { let last = performance.now(); self.gap = 0;
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
        const now = performance.now();
        self.gap = Math.max(self.gap, now - last);
        last = now;
        setTimeout(() => channel.port2.postMessage(0), 0); };
    channel.port2.postMessage(0); }"""
PUT = """([box, text]) => {
    const data = new DataTransfer();
    data.setData('text', text);
    document.getElementById(`try-${box}`).dispatchEvent(
        new ClipboardEvent('paste', { clipboardData: data, cancelable: true })); }"""


def row(name: str, value: float, unit: str, most: float) -> None:
    verdict = "" if value <= most else "  MISSED"
    print(f"{name:44} {value:10.2f} {unit:4} at most {most:g}{verdict}", flush=True)


def seconds(action: Callable[[], object]) -> float:
    begins = time.perf_counter()
    action()
    return time.perf_counter() - begins


def size(place: Path) -> float:
    """The download in MB, by brotli as servers of static files use it."""
    files = [place / name for name in FILES]
    files += [path for path in place.iterdir() if path.suffix in {".js", ".mjs", ".css", ".json"}]
    return sum(len(brotli.compress(path.read_bytes(), quality=11)) for path in {*files}) / 1e6


def first_verdict(page: TryPage) -> float:
    page.wait("document.querySelectorAll('#try-examples a').length === 6")
    return seconds(lambda: page.example(1))


def after_a_key(page: TryPage) -> float:
    """Seconds from a key in the robots.txt to the answer, as the page itself sees it."""
    script = """() => new Promise((done) => {
        const form = document.getElementById('try-form');
        const begins = performance.now();
        const robots = document.getElementById('try-robots');
        robots.value += 'x';
        robots.dispatchEvent(new Event('input'));
        new MutationObserver(() => {
            if (form.dataset.settled === form.dataset.asked) done(performance.now() - begins);
        }).observe(form, { attributes: true }); })"""
    return float(page.page.evaluate(script)) / 1e3


def measure(browser: Any, url: str, place: Path) -> None:
    def opened(context: Any) -> TryPage:
        return TryPage.opened(context, f"{url}/try/")

    row("download, brotli", size(place / "try"), "MB", 5.0)
    cold, warm = [], []
    for _ in range(RUNS):
        context = browser.new_context()
        cold.append(first_verdict(opened(context)))
        warm.append(first_verdict(opened(context)))
        context.close()
    row("first verdict, cold", median(cold), "s", 2.5)
    row("first verdict, warm", median(warm), "s", 1.2)

    page = opened(browser.new_context())
    page.ask(ORDINARY, "\n".join(f"/{word}/a" for word in range(50)), "Googlebot, Bingbot")
    row("answer after a key", 1e3 * median(after_a_key(page) for _ in range(20)), "ms", 100)

    urls = "\n".join(f"https://shop.example/{n % 90}/{n}" for n in range(10_000))
    page.page.evaluate(PUT, ["urls", urls])
    page.answered()
    row("10,000 URLs, after a key", median(after_a_key(page) for _ in range(5)), "s", 0.5)
    page.page.context.close()

    page = opened(browser.new_context())
    page.page.evaluate(GAPS)
    page.page.fill("#try-urls", "/a\n/ab")
    page.page.click("#try-second summary")
    worst = 0.0
    for name, body in HOSTILE_BODIES.items():
        page.page.evaluate("self.gap = 0")
        with tempfile.NamedTemporaryFile() as file:
            file.write(body)
            file.flush()
            page.drop("robots", Path(file.name))
            page.page.wait_for_timeout(200)
            page.answered()
        gap = float(page.page.evaluate("self.gap"))
        worst = max(worst, gap)
        print(f"  {name}: gap {gap:.0f} ms, heap {page.heap() / 2**20:.0f} MiB", flush=True)
    row("longest gap of the main thread, dropped", worst, "ms", 200)
    worst = 0.0
    for text in ("\n" * 500_000, "x" * 500_000, "*" * 500_000, "user-agent: a\n" * 36_000):
        for box in ("robots", "other", "urls"):
            page.page.evaluate("self.gap = 0")
            page.page.evaluate(PUT, [box, text])
            page.answered()
            worst = max(worst, float(page.page.evaluate("self.gap")))
            page.page.locator(f"#try-{box} + p button").click()
    row("longest gap of the main thread, pasted", worst, "ms", 200)
    row("memory of Python after all of these", page.heap() / 2**20, "MiB", 128)

    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(b"user-agent: a\ndisallow: /%d*a*b*c\n" % n for n in range(16_000)))
        file.flush()
        page.drop("robots", Path(file.name))
        page.page.wait_for_selector("#try-stop", state="visible")
        row("stop", seconds(lambda: page.page.click("#try-stop")), "s", 0.2)
        row(
            "the next answer",
            seconds(lambda: (page.page.fill("#try-urls", "/b"), page.answered())),
            "s",
            3,
        )


def main() -> None:
    place = built_site()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    with SiteServer(place) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        measure(browser, server.url(""), place)
        browser.close()


if __name__ == "__main__":
    main()
