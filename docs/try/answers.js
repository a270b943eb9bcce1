// Shows the answers of the "Try it" page. All words about a robots.txt come from the package.

const MOST_ROWS = 200; // shown at a time
const MOST_MARKS = 9; // at a line

/** Return the element of the page with the id `try-…`. */
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

/** Show children in a section, which is hidden without any. */
function fill(id, children) {
  $(id).replaceChildren(...children);
  $(id).closest("section").hidden = !children.length;
}

/** Show the verdicts, and what else does not take long. */
export function showVerdicts({ notes, groups, sitemaps, rows, crawlers }) {
  const wanted = $("refused").checked ? rows.filter((row) => !row[2] || row[5]) : rows;
  fill("notes", notes.map((note) => item(note)));
  fill("groups", groups.map(groupItem));
  fill("sitemaps", sitemaps.map((url) => item(make("code", {}, url))));
  fill("rows", rows.length ? [""] : []);
  $("more").onclick = () => addRows(wanted, crawlers);
  addRows(wanted, crawlers);
}

function groupItem([name, words, lines]) {
  const others = lines.slice(1, MOST_MARKS);
  const joined = others.flatMap((line) => ["; joined with that of ", lineLink(line)]);
  return item(make("strong", {}, name), `: ${words}`, ...joined);
}

function addRows(rows, crawlers) {
  const body = $("rows");
  for (const row of rows.slice(body.rows.length, body.rows.length + MOST_ROWS)) {
    const [url, crawler, isAllowed, line, words, turned] = row;
    const verdict = isAllowed ? "allowed" : "disallowed";
    const strong = make("strong", { className: isAllowed ? "try-good" : "try-bad" }, verdict);
    const [before, after = ""] = words.slice(verdict.length).split(`line ${line}`);
    const cell = make("td", {}, strong, before, line ? lineLink(line) : "", after);
    if (turned) cell.append(make("p", { className: "try-warning" }, `second version: ${turned}`));
    body.append(make("tr", {}, make("td", {}, url), make("td", {}, crawlers[crawler]), cell));
  }
  $("more").textContent = `Show more of ${count(rows.length, "verdict")}`;
  $("more").hidden = body.rows.length === rows.length;
}

/** Show what changes in the second version; `answer` is null without one. */
export function showChanges(answer) {
  const items = (answer?.changes || []).map(([title, lines]) =>
    item(make("strong", {}, title), make("pre", {}, lines.join("\n"))),
  );
  if (answer) items.unshift(item(`${count(answer.count, "user agent")} changed`));
  fill("changes", items);
}

/** Show lines of the file with what there is to say about each; and all answers in a sentence. */
export function showFile({ rows, isCut, groups, lines }, lint) {
  const marks = marksOf(rows, groups, lint?.findings || []);
  const items = Object.entries({ ...lines, ...lint?.lines }).map(([line, text]) => {
    const about = (marks.get(Number(line)) || []).slice(0, MOST_MARKS);
    const properties = { value: line, id: `try-line-${line}` };
    return make("li", properties, make("code", {}, text || " "), ...about);
  });
  fill("file", items);
  const refused = rows.filter((row) => !row[2]).length.toLocaleString("en");
  const levels = Object.entries(lint?.counts || {}).map(([level, number]) => count(number, level));
  const found = lint ? `; lint: ${levels.join(", ") || "clean"}` : "";
  const cut = isCut ? " (the rest of the list is left out)" : "";
  $("status").textContent = `${count(rows.length, "verdict")}${cut}, ${refused} disallowed${found}`;
}

/** Return what there is to say about lines, by line. */
function marksOf(rows, groups, findings) {
  const marks = new Map();
  const mark = (line, className, ...children) => {
    marks.set(line, [...(marks.get(line) || []), make("p", { className }, ...children)]);
  };
  for (const [name, , [line]] of groups) mark(line, "", `the group that ${name} heeds`);
  const decided = new Map(); // the verdict and the URLs of a line
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
