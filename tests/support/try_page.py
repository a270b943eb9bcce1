"""Use the "Try it" page of the documentation in a browser, as a person does.

The Python code of the page can also be imported here, without a browser.
"""

import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from .documentation import HOME

SOURCE = HOME / "docs" / "try"
PATIENCE_MS = 240_000  # This is far too long, even on a machine with ten times too much work.


def questions() -> ModuleType:
    """Import the Python module with which the page answers its questions, and return it."""
    if str(SOURCE) not in sys.path:
        sys.path.append(str(SOURCE))
    import questions  # type: ignore[import-not-found]

    return questions  # type: ignore[no-any-return]


def _as_json(value: Any) -> Any:
    return {"bytes": b64encode(value).decode()} if isinstance(value, bytes) else value


@dataclass
class TryPage:
    """The page in a browser.

    Attributes:
        requests: the URLs that the browser requested.
        errors: the errors in the browser.
    """

    page: Any
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @classmethod
    def opened(cls, context: Any, url: str) -> "TryPage":
        context.set_default_timeout(PATIENCE_MS)
        visit = cls(context.new_page())
        context.on("request", lambda request: visit.requests.append(request.url))
        visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
        visit.page.goto(url)
        return visit

    def wait(self, condition: str) -> None:
        """Wait until a JavaScript expression is true."""
        self.page.wait_for_function(condition)

    def text(self, part: str) -> str:
        """Return the visible text of a part of the page."""
        return str(self.page.inner_text(f"#try-{part}"))

    def ask(self, robots: str, urls: str = "", crawlers: str = "Googlebot") -> None:
        """Type a robots.txt, URLs and crawlers, and wait for the answers."""
        for box, text in (("robots", robots), ("urls", urls), ("crawlers", crawlers)):
            self.page.fill(f"#try-{box}", text)
        self.answered()

    def answered(self) -> None:
        """Wait for the answer to the last question of the page."""
        data = "document.getElementById('try-form').dataset"
        self.wait(f"{data}.settled === {data}.asked")

    def asked(self, action: Callable[[], object]) -> None:
        """Call `action`, which makes the page ask a question, and wait for the answers."""
        asked = "document.getElementById('try-form').dataset.asked"
        before = self.page.evaluate(asked) or ""
        action()
        self.wait(f"({asked} || '') !== '{before}'")
        self.answered()

    def example(self, number: int) -> None:
        """Choose the example with this number, from 1."""
        self.asked(lambda: self.page.click(f"#try-examples li:nth-child({number}) a"))

    def drop(self, box: str, path: Path) -> None:
        """Choose a file for a box, and wait for the answers."""
        self.page.set_input_files(f"#try-{box} + p input", path)
        self.wait(f"document.getElementById('try-{box}').disabled")
        self.answered()

    def copied(self, button: str, words: str = "") -> str:
        """Click on a button that copies a text. Return the text, which has to contain `words`."""
        self.page.click(f"#try-{button}")
        value = "document.getElementById('try-copied').value"
        self.wait(f"{value} && {value}.includes('{words}')")
        return str(self.page.input_value("#try-copied"))

    def in_python(self, calls: Sequence[Sequence[Any]]) -> list[str]:
        """Call functions of `questions` in the page's Python.

        Each call is the name of a function and its arguments.
        """
        script = """calls => {
            const questions = self.pyodide.pyimport("questions");
            const argument = (value) => {
                if (value === null) return undefined;
                if (typeof value === "string") return value;
                const bytes = Uint8Array.from(atob(value.bytes), (char) => char.charCodeAt());
                return self.pyodide.toPy(bytes).tobytes(); };
            return calls.map(([name, ...values]) => questions[name](...values.map(argument))); }"""
        packed = [[_as_json(value) for value in call] for call in calls]
        return list(self._worker.evaluate(script, packed))

    @property
    def _worker(self) -> Any:
        (worker,) = [worker for worker in self.page.workers if "/try/" in worker.url]
        return worker

    def hang(self) -> None:
        """Let the page's Python hang, as in a computation without end."""
        self._worker.evaluate("void setTimeout(() => { for (;;); })")

    def heap(self) -> int:
        """Return the memory of the page's Python, in bytes."""
        return int(self._worker.evaluate("self.pyodide._module.HEAPU8.length"))
