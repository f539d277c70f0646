// The list of sentences: filters, order, keyboard and the address of the sentence shown.

const data = JSON.parse(find("#data").textContent);
const list = find("#sentences");
const toolbar = find("#toolbar");
const search = find("#search");
const rows = [...list.children];
const narrow = matchMedia("(max-width: 56rem)");
let shown = null; // the row whose details are shown
let place = 0; // where the list was scrolled to before a sentence filled a narrow window

const numberOf = (row) => Number(row.id.slice(1));
const chrfOf = (row) => row.dataset.chrf.split(" ").map(Number);
const texts = data.sentences.map(({ source, reference, models }) => {
  const first = models[0];
  const parts = [source ?? "", reference ?? "", (first.source ?? []).join(" ")];
  parts.push((first.reference ?? []).join(" "));
  for (const model of models) parts.push((model.target ?? []).join(" "));
  return parts.join("\n").toLowerCase();
});
const lengthOf = (row) => texts[numberOf(row) - 1].length;

const ORDERS = {
  order: (row) => numberOf(row),
  "worst A": (row) => chrfOf(row)[0],
  "worst B": (row) => chrfOf(row)[1],
  "gain B": (row) => chrfOf(row)[0] - chrfOf(row)[1],
  "gain A": (row) => chrfOf(row)[1] - chrfOf(row)[0],
  long: (row) => -lengthOf(row),
};

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  const wanted = [...toolbar.querySelectorAll("input:checked")].map((box) => box.name);
  let number = 0;
  for (const row of rows) {
    const marks = row.dataset.marks.split(" ");
    const text = texts[numberOf(row) - 1];
    row.hidden = !(
      wanted.every((name) => marks.includes(name)) && words.every((word) => text.includes(word))
    );
    number += !row.hidden;
  }
  const all = rows.length.toLocaleString("en");
  const some = number.toLocaleString("en");
  find("#count").textContent = number === rows.length ? `${all} sentences` : `${some} of ${all} sentences`;
  find("#nothing").hidden = number > 0;
}

function sort() {
  const value = ORDERS[find("#order").value];
  const sorted = rows.map((row) => [value(row), numberOf(row), row]);
  sorted.sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  list.append(...sorted.map(([, , row]) => row));
  list.scrollTop = 0;
}

// Show a row's details; `address` says whether "back" is to lead to what was shown before.
function select(row, address = "push") {
  shown?.querySelector("a").removeAttribute("aria-current");
  if (!shown) place = scrollY;
  shown = row;
  document.body.classList.toggle("reading", Boolean(row));
  if (!row) {
    if (narrow.matches) scrollTo(0, place);
    return;
  }
  row.querySelector("a").setAttribute("aria-current", "true");
  showSentence(numberOf(row));
  if (narrow.matches) scrollTo(0, 0);
  else row.scrollIntoView({ block: "nearest" });
  if (address === "push") history.pushState(null, "", `#${row.id}`);
  if (address === "replace") history.replaceState(null, "", `#${row.id}`);
}

function step(by) {
  const visible = [...list.children].filter((row) => !row.hidden);
  if (!visible.length) return;
  const at = visible.indexOf(shown);
  const next = at < 0 ? 0 : Math.min(Math.max(at + by, 0), visible.length - 1);
  select(visible[next], "replace");
}

function close() {
  if (narrow.matches) {
    history.replaceState(null, "", location.href.split("#")[0]);
    select(null);
  }
}

const ofAddress = () => rows.find((row) => `#${row.id}` === location.hash) ?? null;

list.addEventListener("click", (event) => {
  const row = event.target.closest("li");
  if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  select(row);
});
addEventListener("popstate", () => select(ofAddress() ?? (narrow.matches ? null : rows[0]), "keep"));
toolbar.addEventListener("input", (event) => (event.target.id === "order" ? sort() : filter()));
toolbar.addEventListener("submit", (event) => event.preventDefault());

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest("input[type=search], select");
  if (event.key === "Escape") {
    if (typing) event.target.blur();
    else close();
    return;
  }
  const keys = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
  if (typing) return;
  if (event.key === "/") search.focus();
  else if (event.key in keys) step(keys[event.key]);
  else return;
  event.preventDefault();
});
