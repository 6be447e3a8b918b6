// Redraws the error on the bars of the chosen column while sliders move. It sends what the form shows to
// /console/preview when steps or labels change, and nothing else.
const wizard = at("of-file"), part = wizard.elements;
let told = null, asking = 0, waiting = 0;
const two = (n) => Number(n.toPrecision(2)), points = (half) => (half > 0.5 ? "nothing" : `± ${half < 0.1 ? Number((100 * half).toPrecision(half < 0.03 || half > 0.0995 ? 2 : 1)) : Math.round(100 * half)}`);

// Of the column, where a file is chosen: the share of each step or label; without one, all steps hold the same.
function shares() {
  const listed = part.values1.value.split(",").map((each) => each.trim()).filter((each) => each), below = part.queries.value === "prefix";
  if (part.kind1.value === "labels") return listed.map((text) => [text, chosen ? (chosen.texts.get(text) || 0) / Math.max(1, chosen.filled) : 1 / listed.length]);
  const unit = part.unit1.value.trim();
  const at = chosen && chosen.sample.length ? listed.map((end) => chosen.sample.filter((n) => n <= Number(end)).length / chosen.sample.length) : listed.map((_, i) => (i + 1) / (listed.length + 1));
  return listed.map((end, i) => [`up to ${end}${unit && ` ${unit}`}`, at[i] - (below || !i ? 0 : at[i - 1])]);
}
function drawn(name, x, y, width, height) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  for (const [key, value] of Object.entries({ class: name, x, y, width, height })) made.setAttribute(key, value);
  return made;
}
function draw(half) {
  at("bars").tBodies[0].replaceChildren(...shares().slice(0, 24).map(([text, share]) => {
    const row = document.createElement("tr"), head = document.createElement("th"), cell = document.createElement("td"), svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const low = Math.max(0, share - half), high = Math.min(1, share + half);
    head.scope = "row"; head.append(Object.assign(document.createElement("span"), { textContent: text })); cell.className = "plot";
    for (const [key, value] of [["viewBox", "0 0 1000 40"], ["preserveAspectRatio", "none"], ["aria-hidden", "true"]]) svg.setAttribute(key, value);
    svg.append(drawn("fill1", 0, 12, 1000 * share, 16), drawn("span1", 1000 * low, 12, Math.max(4, 1000 * (high - low)), 16), drawn("solid1", Math.min(996, 1000 * share), 8, 4, 24));
    cell.append(svg); row.append(head, cell);
    return row;
  }));
  at("bars").hidden = false;
  at("bars-said").textContent = chosen ? "Your file as it would come out: the dark bars show the error to expect." : "As if each step held the same share: the dark bars show the error to expect.";
}
function say() {
  const stop = Number(part.stop.value), devices = two(10 ** (part.place.value / 10)), means = [...at("means").children];
  means.forEach((each, i) => { each.hidden = i !== stop; });
  part.stop.setAttribute("aria-valuetext", means[stop].textContent);
  part.place.setAttribute("aria-valuetext", `${count(devices)} devices`);
  at("needs").hidden = !told;
  if (!told) { at("half").textContent = "±"; return; }
  const { variance, bias_bound: bias } = told.rows[stop], half = told.factor * Math.sqrt(variance / devices) + bias;
  at("half").textContent = points(half);
  at("half-said").textContent = `for every answer at once, with ${count(devices)} devices at ε ${means[stop].dataset.epsilon}`;
  for (const row of at("needs").tBodies[0].rows) {
    const room = Number(row.cells[0].textContent.slice(2)) / 100 - bias;
    row.cells[1].textContent = room > 0 ? count(two((told.factor / room) ** 2 * variance)) : "–";
  }
  draw(half);
}
async function ask() {
  const mine = asking += 1;
  if (!part.name1.value.trim() || !part.values1.value.trim()) return;
  at("half-said").textContent = "Computing the error …";
  const fields = new URLSearchParams();
  // Of the form: words and names are not needed for it.
  for (const name of ["token", "name1", "kind1", "values1", "unit1", "queries"]) fields.set(name, part[name].value);
  for (const name of ["missing1", "other1"]) if (part[name].checked) fields.set(name, "yes");
  fields.set("name", "preview");
  let found = null, said = "The server could not be reached: the error is not shown.";
  try {
    const answer = await fetch("/console/preview", { method: "POST", body: fields, headers: { Accept: "application/json" } });
    const body = await answer.json();
    if (answer.ok) found = body; else said = body.detail;
  } catch { /* said already */ }
  if (mine !== asking) return;
  told = found;
  say();
  if (!found) at("half-said").textContent = said;
}
function soon() { clearTimeout(waiting); waiting = setTimeout(ask, 300); }
for (const name of ["stop", "place"]) part[name].addEventListener("input", say);
wizard.addEventListener("change", (event) => { if (!["stop", "place", "purpose", "population", "name"].includes(event.target.name) && event.target.id !== "file") soon(); });
wizard.addEventListener("click", (event) => { if (event.target.closest("#labels button")) soon(); });
at("show").hidden = true;
at("tab-file").hidden = false;
say();
if (part.values1.value) ask();
