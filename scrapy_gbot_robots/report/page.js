"use strict";
// The address has the order of a table: "#rules.blocked", or "#origins.-status" with the greatest first. So a link can
// give an order, and a click only changes the address.
const order = { blocked: "-", status: "-", fetched: "-" };

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.by === undefined ? cell.textContent : Number(cell.dataset.by);
}

function compare(a, b) {
  return typeof a === "number" ? a - b : a.localeCompare(b);
}

function sort() {
  const found = /^#(\w+)\.(-?)([\w-]+)$/.exec(location.hash);
  const table = found && document.getElementById(found[1]);
  const heads = table && table.tHead ? Array.from(table.tHead.rows[0].cells) : [];
  const column = heads.findIndex((head) => head.dataset.key === found[3]);
  if (column < 0) return;
  const sign = found[2] ? -1 : 1;
  const rows = Array.from(table.tBodies[0].rows);
  rows.sort((a, b) => sign * compare(value(a, column), value(b, column)));
  table.tBodies[0].append(...rows);
  heads.forEach((head, at) => {
    if (at === column) head.setAttribute("aria-sort", sign < 0 ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
}

for (const head of document.querySelectorAll("th[data-key]")) {
  const button = document.createElement("button");
  button.textContent = head.textContent;
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const key = head.dataset.key;
    const now = head.getAttribute("aria-sort");
    const sign = now ? (now === "descending" ? "" : "-") : order[key] || "";
    location.hash = head.closest("table").id + "." + sign + key;
  });
}
for (const table of document.querySelectorAll(".wide table")) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  label.className = "filter";
  input.type = "search";
  label.append("Show rows with", input);
  table.parentElement.before(label);
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    for (const row of table.tBodies[0].rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}
addEventListener("hashchange", sort);
sort();
