// Shows the answers of the "Try it" page. The package words everything about a robots.txt.

const MOST_ROWS = 200; // The table grows by this number.
const MOST_MARKS = 9; // A line of the file has no more remarks.

/** Return the element of the page whose id is "try-" and `id`. */
export const $ = (id) => document.getElementById(`try-${id}`);

/** Return a new element with properties and children. */
export function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Return a number with its noun: "1 verdict", "10,000 verdicts". */
export const count = (number, noun) =>
  `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

const item = (...children) => make("li", {}, ...children);
const lineLink = (line) => make("a", { href: `#try-line-${line}` }, `line ${line}`);

/** Put children into a section. Hide the section if there are none. */
function fill(id, children) {
  $(id).replaceChildren(...children);
  $(id).closest("section").hidden = !children.length;
}

/** Show the verdicts, and the other answers that do not take long. */
export function showVerdicts({ mistakes, notes, groups, sitemaps, rows, crawlers }) {
  const wanted = $("disallowed").checked ? rows.filter((row) => !row[2] || row[5]) : rows;
  const wrong = mistakes.map((text) => make("li", { className: "try-error" }, `error: ${text}`));
  fill("notes", [...wrong, ...notes.map((note) => item(note))]);
  fill("groups", groups.map(groupItem));
  fill("sitemaps", sitemaps.map((url) => item(make("code", {}, url))));
  fill("rows", rows.length ? [""] : []);
  $("more").onclick = () => addRows(wanted, crawlers);
  addRows(wanted, crawlers);
}

function groupItem([name, words, lines]) {
  const others = lines.slice(1, MOST_MARKS);
  const joined = others.flatMap((line) => ["; joined with the group of ", lineLink(line)]);
  return item(make("strong", {}, name), `: ${words}`, ...joined);
}

function addRows(rows, crawlers) {
  const body = $("rows");
  for (const row of rows.slice(body.rows.length, body.rows.length + MOST_ROWS)) {
    const [url, number, isAllowed, line, words, second] = row;
    const verdict = isAllowed ? "allowed" : "disallowed";
    const strong = make("strong", { className: isAllowed ? "try-good" : "try-bad" }, verdict);
    const [before, after = ""] = words.slice(verdict.length).split(`line ${line}`);
    const cell = make("td", {}, strong, before, line ? lineLink(line) : "", after);
    if (second) cell.append(make("p", { className: "try-warning" }, `second version: ${second}`));
    body.append(make("tr", {}, make("td", {}, url), make("td", {}, crawlers[number]), cell));
  }
  $("more").textContent = `Show more of ${count(rows.length, "verdict")}`;
  $("more").hidden = body.rows.length === rows.length;
}

/** Show the changes of the second version. `answer` is null if there is no second version. */
export function showChanges(answer) {
  const items = (answer?.changes || []).map(([title, lines]) =>
    item(make("strong", {}, title), make("pre", {}, lines.join("\n"))),
  );
  if (answer) items.unshift(item(`${count(answer.count, "user agent")} changed`));
  fill("changes", items);
}

/** Show lines of the file with remarks about each, and count all answers in the status. */
export function showFile({ rows, isCut, groups, lines }, lint) {
  const marks = marksOf(rows, groups, lint?.findings || []);
  const items = Object.entries({ ...lines, ...lint?.lines }).map(([line, text]) => {
    const about = (marks.get(Number(line)) || []).slice(0, MOST_MARKS);
    const properties = { value: line, id: `try-line-${line}` };
    return make("li", properties, make("code", {}, text || " "), ...about);
  });
  fill("file", items);
  const disallowed = rows.filter((row) => !row[2]).length.toLocaleString("en");
  const levels = Object.entries(lint?.counts || {}).map(([level, number]) => count(number, level));
  const found = lint ? `; lint: ${levels.join(", ") || "clean"}` : "";
  const cut = isCut ? " (the rest of the list is left out)" : "";
  const counted = `${count(rows.length, "verdict")}${cut}, ${disallowed} disallowed`;
  $("status").textContent = counted + found;
}

/** Return the remarks about each line, by its number. */
function marksOf(rows, groups, findings) {
  const marks = new Map();
  const mark = (line, className, ...children) => {
    marks.set(line, [...(marks.get(line) || []), make("p", { className }, ...children)]);
  };
  for (const [name, , [line]] of groups) mark(line, "", `the group that ${name} follows`);
  const decided = new Map(); // A line number leads to its verdict and its URLs.
  for (const [url, , isAllowed, line] of rows) {
    if (!decided.has(line)) decided.set(line, [isAllowed, new Set()]);
    decided.get(line)[1].add(url);
  }
  for (const [line, [isAllowed, urls]] of decided) {
    const others = urls.size > 3 ? ` and ${count(urls.size - 3, "other")}` : "";
    const which = [...urls].slice(0, 3).join(", ") + others;
    if (isAllowed) mark(line, "try-good", `allows ${which}`);
    else mark(line, "try-bad", `disallows ${which}`);
  }
  for (const [line, level, id, text] of findings) {
    const more = make("a", { href: `../lint/#${id}` }, "what to do");
    mark(line, `try-${level}`, `${level}: ${text} (`, more, ")");
  }
  return marks;
}
