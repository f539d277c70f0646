// Attention: a matrix, and the source words that a target word looks at.

const LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwx"; // steps of 2%

// Weights in percent, target by target, each as many as there are source words and </s>.
function attentionWeights(text, width) {
  const weights = [];
  for (const [part] of text.matchAll(/\d+|[A-Za-x]/g)) {
    if (/\d/.test(part)) for (let k = Number(part); k > 0; k--) weights.push(0);
    else weights.push(2 * (LEVELS.indexOf(part) + 1));
  }
  const rows = [];
  for (let at = 0; at < weights.length; at += width) rows.push(weights.slice(at, at + width));
  return rows;
}

// A row for each target word, a column for each source word.
function attentionTable(weights, source, target) {
  const columns = [...source, "</s>"];
  const labels = [...target, "</s>"];
  const head = make("tr", {}, make("td"));
  for (const word of columns) head.append(make("th", { scope: "col" }, make("span", {}, word)));
  const body = make("tbody");
  weights.forEach((row, place) => {
    const line = make("tr", {}, make("th", { scope: "row", dir: "auto" }, labels[place] ?? ""));
    row.forEach((weight, column) => {
      const said = `${labels[place]} looks at ${columns[column]}: ${weight}%`;
      const cell = make("td", weight ? { title: said, class: weight > 60 ? "strong" : null } : {});
      if (weight) cell.style.setProperty("--weight", `${weight}%`);
      if (weight >= 20) cell.textContent = weight;
      line.append(cell);
    });
    body.append(line);
  });
  return make("div", { class: "scroll" }, make("table", { class: columns.length > 11 ? "attention dense" : "attention" }, make("thead", {}, head), body));
}

// Shade the source words by the attention of the target word that is pointed at.
function shadeOnPointing(line, sourceLine, weights) {
  const words = [...sourceLine.querySelectorAll(".word")];
  const shade = (event) => {
    const word = event.target.closest(".word");
    const row = word && weights[Number(word.dataset.position)];
    words.forEach((each, place) => {
      if (row?.[place]) each.style.setProperty("--weight", `${row[place]}%`);
      else each.style.removeProperty("--weight");
    });
  };
  for (const name of ["mouseover", "focusin"]) line.addEventListener(name, shade);
  for (const name of ["mouseleave", "focusout"]) {
    line.addEventListener(name, () => words.forEach((each) => each.style.removeProperty("--weight")));
  }
}
