// Words of a sentence: what is marked on them, what changed, and their neighbours.

const MARKS = {
  unknown: "not in the dictionary",
  miss: "in the reference, but no candidate",
  replaced: "in the place of an unknown word, with the source word it came from",
  changed: "differs from the other model",
};
const wordNumbers = new Map(data.words.map((word, number) => [word, number]));
const neighboursOf = (model, word) => data.neighbours[model]?.words[wordNumbers.get(word)];
const hasNeighbours = (word) => data.neighbours.some((_, model) => neighboursOf(model, word));

// A word; `marks` are keys of MARKS.
function wordElement(word, marks, from) {
  const said = marks.map((mark) => MARKS[mark]);
  if (from) said.push(`from ${from}`);
  const attributes = { class: ["word", ...marks].join(" "), title: said.join("; ") || null };
  if (hasNeighbours(word)) Object.assign(attributes, { tabindex: 0, role: "button", "data-word": word });
  const made = make("span", attributes, word);
  if (from) made.append(make("small", {}, ` \u2190 ${from}`));
  return made;
}

// A line of words. `marks`: by name the positions that have it; `from`: by position a source word.
function lineOfWords(units, marks, from = {}) {
  const line = make("p", { class: "words", dir: "auto" });
  const names = Object.keys(marks);
  units.forEach((unit, position) => {
    const own = names.filter((name) => marks[name].includes(position));
    const word = wordElement(unit, own, from[position]);
    word.dataset.position = position;
    line.append(word, " ");
  });
  if (!units.length) line.append(make("i", { class: "note" }, "empty"));
  return line;
}

// Positions of `units` that are in no longest common subsequence with `others`.
function changedWords(units, others) {
  const width = others.length + 1;
  const lengths = new Uint16Array((units.length + 1) * width);
  for (let row = units.length - 1; row >= 0; row--) {
    for (let column = others.length - 1; column >= 0; column--) {
      const below = lengths[(row + 1) * width + column];
      const right = lengths[row * width + column + 1];
      const equal = units[row] === others[column];
      lengths[row * width + column] = equal
        ? lengths[(row + 1) * width + column + 1] + 1
        : Math.max(below, right);
    }
  }
  const changed = [];
  let row = 0;
  let column = 0;
  while (row < units.length) {
    if (column < others.length && units[row] === others[column]) {
      row++;
      column++;
    } else if (
      column < others.length &&
      lengths[row * width + column + 1] >= lengths[(row + 1) * width + column]
    ) {
      column++;
    } else {
      changed.push(row++);
    }
  }
  return changed;
}

// The nearest words at the input and at the output, of every model.
function neighbourPanel(word) {
  const panel = make("div", { class: "models" });
  data.models.forEach((name, model) => {
    const found = neighboursOf(model, word);
    if (!found) return;
    const { tied } = data.neighbours[model];
    const sides = tied ? [["input and output are tied", found[0]]] : [
      ["at the input", found[0]],
      ["at the output", found[1]],
    ];
    const block = make("div", { class: "side" }, modelName(model));
    const columns = make("div", { class: "spaces" });
    for (const [label, pairs] of sides) {
      const other = tied ? [] : sides.find(([each]) => each !== label)[1];
      columns.append(make("div", {}, make("h4", {}, label), neighbourList(pairs, other)));
    }
    block.append(columns);
    panel.append(block);
  });
  return panel;
}

// Words with their cosines; those that are near in the other space too are bold.
function neighbourList(pairs, other) {
  const items = make("ol", { class: "neighbours" });
  for (let at = 0; at < pairs.length; at += 2) {
    const word = data.words[pairs[at]];
    const both = other.some((number, place) => place % 2 === 0 && number === pairs[at]);
    const bar = make("span", { class: "bar" });
    bar.style.setProperty("--part", `${Math.max(pairs[at + 1], 0)}%`);
    const text = wordElement(word, []);
    if (both) text.classList.add("both");
    const cosine = (pairs[at + 1] / 100).toFixed(2);
    items.append(make("li", {}, text, bar, make("span", { class: "cosine" }, cosine)));
  }
  return items;
}

function modelName(model) {
  const letter = "AB"[model];
  const badge = data.models.length > 1 ? make("b", { class: `letter ${letter.toLowerCase()}` }, letter) : null;
  return make("h3", {}, badge, data.models[model]);
}
