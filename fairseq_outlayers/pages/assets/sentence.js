// One sentence in detail.

const detail = find("#detail");
const TEXT = ["source", "unknown_source", "reference", "unknown_reference"];
let wordAsked = null;

// All lists of a model's view; those of the text are the first model's where it has no others.
function viewOf(sentence, model) {
  const view = { ...sentence.models[model] };
  for (const name of TEXT) view[name] ??= sentence.models[0][name];
  for (const name of [...TEXT, "misses", "target", "unknown", "replaced", "alignment"]) view[name] ??= [];
  return view;
}

function showSentence(number) {
  const sentence = data.sentences[number - 1];
  const views = data.models.map((_, model) => viewOf(sentence, model));
  const [first] = views;
  const source = lineOfWords(first.source, { unknown: first.unknown_source });
  const reference = lineOfWords(first.reference, { unknown: first.unknown_reference, miss: first.misses });
  const models = make("div", { class: "models" }, ...views.map((_, k) => modelBlock(views, k, source)));
  detail.replaceChildren(
    ...[
      heading(number),
      make("div", { class: "pair" }, labelled("Source", source), labelled("Reference", reference)),
      models,
      candidateBlock(views, number - 1),
      neighbourBlock(),
    ].filter(Boolean),
  );
  const legendLine = legend();
  if (legendLine) models.after(legendLine);
  detail.scrollTop = 0;
}

function heading(number) {
  const button = (text, label, action) => {
    const made = make("button", { type: "button", "aria-label": label }, text);
    made.addEventListener("click", action);
    return made;
  };
  const back = button("\u2039 List", "Back to the list", () => close());
  back.className = "back";
  const title = make("h2", {}, `Sentence ${number} `, make("small", {}, `of ${data.sentences.length}`));
  const previous = button("\u2191", "Previous sentence", () => step(-1));
  return make("div", { class: "heading" }, back, title, previous, button("\u2193", "Next sentence", () => step(1)));
}

const labelled = (label, line) => make("div", { class: "labelled" }, make("h3", {}, label), line);
const sameWords = (one, other) => one.length === other.length && one.every((unit, k) => unit === other[k]);

function modelBlock(views, model, firstSource) {
  const view = views[model];
  const marks = { unknown: view.unknown.filter((k) => !view.replaced.includes(k)), replaced: view.replaced };
  if (views.length > 1) marks.changed = changedWords(view.target, views[1 - model].target);
  const from = Object.fromEntries(view.replaced.map((k) => [k, view.source[view.alignment[k]]]));
  const line = lineOfWords(view.target, marks, from);
  const scores = make("p", { class: "scores" }, `chrF ${view.chrf.toFixed(1)}`);
  scores.append(make("span", { title: "log-probability in nats, divided by the length to the power of the length penalty" }, ` log P / unit ${view.score.toFixed(3)}`));
  if (data.models.length > 1) scores.append(` ${marks.changed.length} changed`);
  const block = make("section", { class: "side" }, modelName(model), line, scores);
  let source = firstSource;
  if (!sameWords(view.source, views[0].source)) {
    source = lineOfWords(view.source, { unknown: view.unknown_source });
    block.append(labelled("Source as it reads it", source));
  }
  if (view.attention) {
    const weights = attentionWeights(view.attention, view.source.length + 1);
    shadeOnPointing(line, source, weights);
    block.append(make("h4", {}, "Attention"), attentionTable(weights, view.source, view.target));
  }
  return block;
}

// What the marks in this sentence mean.
function legend() {
  const line = make("p", { class: "legend" });
  for (const [mark, meaning] of Object.entries(MARKS)) {
    if (!find(`#detail .${mark}`)) continue;
    const example = make("span", { class: `word ${mark}` }, mark);
    line.append(make("span", {}, example, ` ${meaning}`));
  }
  return line.children.length ? line : null;
}

const sameLists = JSON.stringify(data.candidates[0]) === JSON.stringify(data.candidates[1]);

// The candidates of each model: misses, what each source word added, and what all sentences share.
function candidateBlock(views, number) {
  const block = make("section", { class: "candidates" });
  data.candidates.forEach((lists, model) => {
    if (!lists.shared || (model && sameLists && sameWords(views[0].source, views[1].source))) return;
    const { source, unknown_source, reference, misses } = views[model];
    const others = lists.others[number];
    const title = make("h3", {}, "Candidates");
    if (views.length > 1 && !sameLists) title.append(make("small", {}, ` of ${data.models[model]}`));
    const missed = [...new Set(misses.map((k) => reference[k]))];
    block.append(title, missed.length
      ? make("p", {}, "Not among them, but in the reference: ", ...missed.flatMap((w) => [wordElement(w, ["miss"]), " "]))
      : make("p", { class: "note" }, "All words of the reference are among them."));
    block.append(make("p", { class: "note" }, "By the source word that adds them; words of the reference are bold."));
    block.append(candidateTable(lists, source, unknown_source, new Set(reference)));
    block.append(moreCandidates(`${others.length} from neither`, others, reference));
    block.append(moreCandidates(`${lists.shared.length.toLocaleString("en")} that all sentences share`, lists.shared, reference));
  });
  return block.children.length ? block : null;
}

function candidateTable(lists, source, unknown, wanted) {
  const body = make("tbody");
  const seen = new Set();
  source.forEach((unit, position) => {
    if (seen.has(unit)) return;
    seen.add(unit);
    // Not a member that every object has, such as "constructor".
    const numbers = Object.hasOwn(lists.translations, unit) ? lists.translations[unit] : [];
    const cells = numbers.flatMap((k) => [candidate(data.words[k], wanted), " "]);
    const from = make("th", { scope: "row" }, wordElement(unit, unknown.includes(position) ? ["unknown"] : []));
    body.append(make("tr", {}, from, make("td", {}, ...(cells.length ? cells : [make("i", { class: "note" }, "none")]))));
  });
  return make("div", { class: "scroll" }, make("table", { class: "lists" }, body));
}

const candidate = (word, wanted) => make("span", { class: wanted.has(word) ? "word hit" : "word" }, word);

function moreCandidates(label, numbers, reference) {
  if (!numbers.length) return "";
  const more = make("details", {}, make("summary", {}, label));
  more.addEventListener("toggle", () => {
    const wanted = new Set(reference);
    if (more.children.length > 1) return;
    more.append(make("p", { class: "words" }, ...numbers.flatMap((k) => [candidate(data.words[k], wanted), " "])));
  });
  return more;
}

function neighbourBlock() {
  if (!data.neighbours.some(Boolean)) return null;
  const panel = make("div", { id: "neighbours" });
  const input = make("input", { type: "search", list: "known-words", placeholder: "a word", "aria-label": "Word" });
  input.value = wordAsked ?? "";
  input.addEventListener("change", () => askFor(input.value));
  const note = make("p", { class: "note" }, "Select a word above, or type one. Bold: near at both ends.");
  const block = make("section", { class: "neighbourhood" }, make("h3", {}, "Neighbours "), input, note, panel);
  if (wordAsked) panel.append(neighbourPanel(wordAsked));
  return block;
}

function askFor(word, scroll = false) {
  wordAsked = word;
  find(".neighbourhood input").value = word;
  const found = hasNeighbours(word) ? neighbourPanel(word) : make("p", {}, `No neighbours of ${word} are kept here.`);
  find("#neighbours").replaceChildren(found);
  if (scroll) find(".neighbourhood").scrollIntoView({ block: "nearest", behavior: "smooth" });
}

const asked = (event) => event.target.closest("[data-word]")?.dataset.word;
detail.addEventListener("click", (event) => asked(event) && askFor(asked(event), true));
detail.addEventListener("keydown", (event) => {
  if ((event.key === "Enter" || event.key === " ") && asked(event)) {
    event.preventDefault();
    askFor(asked(event), true);
  }
});

{
  const known = new Set(data.neighbours.flatMap((each) => Object.keys(each?.words ?? {})));
  const options = [...known].map((number) => make("option", { value: data.words[number] }));
  document.body.append(make("datalist", { id: "known-words" }, ...options));
}

select(ofAddress() ?? (narrow.matches ? null : rows[0] ?? null), "keep");
