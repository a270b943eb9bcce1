// Takes the case from the form of the "Try it" page, asks Python in a worker, shows the answers.

import { $, showChanges, showFile, showVerdicts } from "./answers.js";
import { Box } from "./box.js";
import { caseIn, commandOf, linkOf, reportOf } from "./share.js";

const START_MS = 120000; // The start of Python takes a minute on a slow network.
const PATIENCE_MS = 250; // If an answer takes longer, the page shows that Python is at work.

let worker = null;
let newest = 0; // The number of the newest question. Only its answers are shown.
let patience = 0; // The timer of PATIENCE_MS.
let starting = 0; // The timer of START_MS.
let skipsLint = false; // True after a stop, until the file changes.
let verdicts = null; // The last answer of this kind.

/** Show why the form cannot work here, and the text about the command in its place. */
function fail(why) {
  worker?.terminate();
  $("form").hidden = true;
  $("instead").hidden = false;
  $("why").textContent = `The form does not work here: ${why}.`;
}

function start() {
  if (worker) return;
  clearTimeout(starting);
  starting = setTimeout(fail, START_MS, "Python did not start in time");
  worker = new Worker(new URL("worker.mjs", import.meta.url), { type: "module" });
  worker.onerror = () => fail("the browser cannot load the worker");
  worker.onmessage = ({ data: { id, part, answer, error } }) => {
    clearTimeout(starting);
    if (part === "unable") fail(error);
    else if (part === "failed") $("status").textContent = `Please report this: ${error}`;
    else if (id === newest) show(part, JSON.parse(answer));
  };
}

/** Return the contents of the form. */
function formCase() {
  const parts = boxes.map((box) => box.bytes);
  return { parts, crawlers: $("crawlers").value };
}

/** Ask about the contents of the form. `changed` is the name of the changed box, if any. */
function ask(changed) {
  start();
  if (changed === "robots") skipsLint = false;
  newest += 1;
  $("form").dataset.asked = newest;
  worker?.postMessage({ id: newest, skipsLint, ...formCase() });
  clearTimeout(patience);
  patience = setTimeout(() => {
    if (verdicts) showFile(verdicts, null);
    $("status").textContent = "Python is at work ...";
    $("stop").hidden = false;
  }, PATIENCE_MS);
}

/** Show a part of the newest answer. The findings of lint come last. */
function show(part, answer) {
  if (part === "verdicts") showVerdicts((verdicts = answer));
  if (part === "changes") showChanges(answer);
  if (part === "lint") {
    showFile(verdicts, answer);
    settle();
  }
  $("answers").hidden = false;
}

function settle() {
  clearTimeout(patience);
  $("stop").hidden = true;
  $("form").dataset.settled = newest; // The tests wait until this equals `asked`.
}

function stop() {
  worker.terminate();
  worker = null;
  skipsLint = true;
  settle();
  $("status").textContent = "Stopped. The findings of lint are left out until the file changes.";
  start(); // The next question need not wait for Python.
}

function fillForm({ parts, crawlers }) {
  $("crawlers").value = crawlers;
  boxes.forEach((box, at) => box.put(parts[at]));
  $("second").open = parts[1].length > 0;
}

/** Fill the form from the address of the page if the address contains a case. */
async function open() {
  try {
    const linked = await caseIn(location.hash);
    if (linked) fillForm(linked);
  } catch {
    $("status").textContent = "The link is cut, damaged or too large; nothing was taken from it.";
  }
}

function copy(text) {
  $("copied").value = text;
  $("copied").select();
  const isCopied = document.execCommand("copy"); // The newer way does not work over http.
  $("taken").textContent = isCopied ? "Copied." : "Selected below, to copy.";
}

const command = () => commandOf(formCase(), verdicts);
const link = () => linkOf(formCase()).catch(() => "This case is too large for a link.");

const boxes = ["robots", "other", "urls"].map((name) => new Box(name, () => ask(name)));
$("crawlers").oninput = ask;
$("disallowed").onchange = () => showVerdicts(verdicts);
$("stop").onclick = stop;
$("add").onclick = () => {
  $("crawlers").value = `${$("crawlers").value.trim()}\n${$("table").value}`.trim();
  ask();
};
$("link").onclick = async () => copy(await link());
$("command").onclick = () => copy(command());
$("report").onclick = async () => copy(reportOf(command(), await link(), verdicts));
$("form").addEventListener("focusin", start); // Python is loaded at the first touch.
$("examples").onclick = () => history.replaceState(null, "", "#"); // An example works twice.
addEventListener("hashchange", open);

$("form").hidden = false;
$("instead").hidden = true;
const missing = ["Worker", "WebAssembly", "DecompressionStream"].find((name) => !(name in window));
if (missing) fail(`this browser has no ${missing}`);
else open();
