"""The "Try it" page in a browser, as a person uses it; and its questions, asked of this Python."""

import sys
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from .documentation import HOME

SOURCE = HOME / "docs" / "try"
PATIENCE_MS = 240_000  # far too long, on a machine with ten times the work that it can do, too


def questions() -> ModuleType:
    """The adapter of the page, in this Python."""
    if str(SOURCE) not in sys.path:
        sys.path.append(str(SOURCE))
    import questions  # type: ignore[import-not-found]

    return questions  # type: ignore[no-any-return]


def _as_json(value: Any) -> Any:
    return {"bytes": b64encode(value).decode()} if isinstance(value, bytes) else value


@dataclass
class TryPage:
    """The page. `requests` are the URLs that the browser asked for, `errors` what went wrong in it."""

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
        """The text of a part of the page that is shown."""
        return str(self.page.inner_text(f"#try-{part}"))

    def ask(self, robots: str, urls: str = "", crawlers: str = "Googlebot") -> None:
        """Type a case, and wait for its answers."""
        for box, text in (("robots", robots), ("urls", urls), ("crawlers", crawlers)):
            self.page.fill(f"#try-{box}", text)
        self.answered()

    def answered(self) -> None:
        """Wait for the answer to the last question that was asked before this."""
        data = "document.getElementById('try-form').dataset"
        self.wait(f"{data}.settled === {data}.asked")

    def asked(self, action: Callable[[], object]) -> None:
        """Do what makes the page ask, and wait for the answers."""
        asked = "document.getElementById('try-form').dataset.asked"
        before = self.page.evaluate(asked) or ""
        action()
        self.wait(f"({asked} || '') !== '{before}'")
        self.answered()

    def example(self, number: int) -> None:
        """Take an example, from 1."""
        self.asked(lambda: self.page.click(f"#try-examples li:nth-child({number}) a"))

    def drop(self, box: str, path: Path) -> None:
        """Choose a file for a box, and wait for the answers."""
        self.page.set_input_files(f"#try-{box} + p input", path)
        self.wait(f"document.getElementById('try-{box}').disabled")
        self.answered()

    def copied(self, button: str, words: str = "") -> str:
        """Click on a button that copies something; return that, which has some `words`."""
        self.page.click(f"#try-{button}")
        value = "document.getElementById('try-copied').value"
        self.wait(f"{value} && {value}.includes('{words}')")
        return str(self.page.input_value("#try-copied"))

    def in_python(self, calls: Sequence[Sequence[Any]]) -> list[str]:
        """Ask the page's Python functions of the adapter: each call is a name and arguments."""
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
        """Let the page's Python answer nothing any more, as in a computation without end."""
        self._worker.evaluate("void setTimeout(() => { for (;;); })")

    def heap(self) -> int:
        """The memory of the page's Python, in bytes."""
        return int(self._worker.evaluate("self.pyodide._module.HEAPU8.length"))
