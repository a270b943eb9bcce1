// Runs Python and the package in a worker, and answers the questions of the "Try it" page.

import { loadPyodide } from "./pyodide.mjs";

// The list of packages is empty, because nothing is loaded by name. Pyodide checks the ABI.
const lockFileContents = { info: { abi_version: "2026_0" }, packages: {} };
const EMPTY_MODULE = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);
// Python gets the arrays of JavaScript as bytes.
const ASK = `
import questions
lambda name, *values: getattr(questions, name)(
    *[value.to_bytes() if hasattr(value, "to_bytes") else value for value in values])`;

async function start() {
  new WebAssembly.Module(EMPTY_MODULE); // It throws if a header forbids WebAssembly.
  self.pyodide = await loadPyodide({ lockFileContents });
  return self.pyodide.runPython(ASK);
}

const started = start();
started.then(
  () => postMessage({ part: "started" }),
  (error) => postMessage({ part: "unable", error: error.message }),
);

let newest = 0;
onmessage = async ({ data: { id, skipsLint, parts, crawlers } }) => {
  newest = id;
  const [robots, second, urls] = parts;
  const other = second.length ? second : undefined; // None
  const questions = {
    verdicts: ["verdicts", robots, other, urls, crawlers],
    changes: other && ["on_change", robots, other],
    lint: !skipsLint && ["on_file", robots],
  };
  try {
    const ask = await started;
    for (const [part, question] of Object.entries(questions)) {
      await new Promise((next) => setTimeout(next)); // A newer question may arrive meanwhile.
      if (id !== newest) return;
      postMessage({ id, part, answer: question ? ask(...question) : "null" });
    }
  } catch (error) {
    postMessage({ id, part: "failed", error: error.message });
  }
};
