// Reads a CSV in this browser and fills in the form from one of its columns. The file is sent nowhere: only what the
// form shows is.
const MOST_BYTES = 50e6, MOST_ROWS = 1e6, SAMPLE = 20000, SEEN = 20000, MOST_TEXTS = 2000, MOST_LABELS = 20, FEWEST = 5;
const at = (id) => document.getElementById(id), count = (n) => n.toLocaleString("en");
// "1,234" may be 1.234 or 1234: the page asks. "1,234.5" and "12,5" are clear.
const GROUPED = /^[+-]?\d{1,3}(,\d{3})+$/, CLEAR = /^[+-]?\d{1,3}(,\d{3})+\.\d*$/;
let columns = [], rows = 0, chosen = null, reading = 0, opened = null;

// One column: how many cells are empty or numbers, a sample of the numbers, how often each text occurs.
class Column {
  constructor(name) { this.name = name; this.filled = 0; this.numbers = 0; this.whole = true; this.grouped = ""; this.decimal = false; this.sample = []; this.texts = new Map(); this.seen = new Set(); }
  take(text) {
    if (text === "") return;
    this.filled += 1;
    if (this.filled <= SEEN) this.seen.add(text);
    if (this.texts.has(text) || this.texts.size < MOST_TEXTS) this.texts.set(text, (this.texts.get(text) || 0) + 1);
    const grouped = GROUPED.test(text), comma = text.includes(",");
    if (grouped) this.grouped ||= text; else this.decimal ||= comma;
    const number = Number(!comma ? text : CLEAR.test(text) || (grouped && at("comma").value === "thousands") ? text.replaceAll(",", "") : text.replace(",", "."));
    if (!Number.isFinite(number)) return;
    this.numbers += 1;
    this.whole = this.whole && Number.isInteger(number);
    // Every number is as likely to be in the sample.
    if (this.sample.length < SAMPLE) this.sample.push(number);
    else { const place = Math.floor(Math.random() * this.numbers); if (place < SAMPLE) this.sample[place] = number; }
  }
  get different() { return this.seen.size; }
  get isNumber() { return this.filled > 0 && this.numbers === this.filled; }
  // A number with decimals may differ in each row and still be a measurement.
  get identifies() { const some = Math.min(this.filled, SEEN); return some >= 20 && this.different > 0.9 * some && (!this.isNumber || (this.whole && this.different === some)); }
  get kind() { return this.isNumber && this.different > 12 ? "edges" : "labels"; }
  get said() {
    if (!this.filled) return "empty";
    if (this.identifies) return "different in each row: identifies people";
    if (this.kind === "edges") return `numbers, ${Math.min(...this.sample)} to ${Math.max(...this.sample)}`;
    return this.different === 2 ? "two different values" : `${count(this.different)} different values`;
  }
}

// Cells of a text that comes in pieces; quotes may hold line ends and doubled quotes.
class Cells {
  constructor(onRow) { this.onRow = onRow; this.row = [""]; this.quoted = false; this.was = this.last = ""; this.separator = null; this.head = ""; }
  take(text, isLast) {
    if (this.separator === null) {
      this.head += text;
      const end = this.head.search(/[\r\n]/);
      if (end < 0 && !isLast && this.head.length < 1e5) return true;
      const line = this.head.slice(0, end < 0 ? undefined : end).replace(/"[^"]*"/g, "");
      this.separator = [";", "\t", ","].reduce((best, each) => line.split(each).length > line.split(best).length ? each : best);
      text = this.head.replace(/^\uFEFF/, "");
    }
    for (const c of text) {
      if (this.quoted) { if (c === '"') { this.quoted = false; this.was = '"'; } else this.row[this.row.length - 1] += c; continue; }
      if (c === '"') { if (this.was === '"') this.row[this.row.length - 1] += c; this.quoted = true; this.was = ""; continue; }
      this.was = "";
      const cr = this.last === "\r";
      if (c === this.separator) this.row.push("");
      else if (c === "\r" || (c === "\n" && !cr)) { if (!this.end()) return false; }
      else if (c !== "\n") this.row[this.row.length - 1] += c;
      this.last = c;
    }
    return isLast ? this.end() : true;
  }
  end() { const row = this.row; this.row = [""]; return row.length === 1 && row[0].trim() === "" ? true : this.onRow(row.map((each) => each.trim())); }
}

async function read(file) {
  if (!file) return;
  columns = []; rows = 0; chosen = null; at("columns").replaceChildren(); opened = file;
  at("columns-field").hidden = at("decimal").hidden = true;
  let odd = 0, stopped = "", bytes = 0;
  // A file chosen meanwhile ends this one: both would fill the same columns.
  const mine = reading += 1;
  const cells = new Cells((row) => {
    if (!columns.length) { columns = row.map((name, i) => new Column(name || `column ${i + 1}`)); return true; }
    if (row.length !== columns.length) { odd += 1; return true; }
    rows += 1;
    row.forEach((text, i) => columns[i].take(text));
    if (rows < MOST_ROWS) return true;
    stopped = `only the first ${count(MOST_ROWS)} rows were read`;
    return false;
  });
  const decoder = new TextDecoder("utf-8"), reader = file.stream().getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (mine !== reading) return reader.cancel();
    const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
    if (text.includes("\0")) return tell(`${file.name} is no text: save the table as CSV and choose it again.`, true);
    if (text.includes("\uFFFD")) return tell(`${file.name} is not in UTF-8: save the table as CSV in UTF-8 and choose it again.`, true);
    bytes += done ? 0 : value.length;
    if (!cells.take(text, done) || done) break;
    if (bytes > MOST_BYTES) { stopped = `only the first ${MOST_BYTES / 1e6} MB were read`; break; }
    at("file-said").textContent = `Reading: ${count(rows)} rows`;
  }
  reader.cancel();
  if (!rows) return tell(`${file.name} has no row below its first line, which names the columns.`, true);
  const notes = [odd ? `${count(odd)} with another number of cells were left out` : "", stopped].filter((each) => each);
  tell([`${file.name}: ${count(rows)} rows, ${count(columns.length)} columns, read in this browser and not sent`, ...notes].join("; "), false);
  offer();
}
function tell(text, wrong) { at("file-said").textContent = text; at("file-said").classList.toggle("bad", wrong); }
function offer() {
  at("columns").replaceChildren(...columns.map((column, i) => {
    const label = document.createElement("label"), input = document.createElement("input"), small = document.createElement("small");
    Object.assign(input, { type: "radio", name: "column", value: String(i), disabled: !column.filled || column.identifies });
    small.textContent = column.said;
    label.append(input, column.name, small);
    return label;
  }));
  at("columns-field").hidden = false;
  const unclear = columns.find((each) => each.grouped && !each.decimal);
  at("decimal").hidden = !unclear;
  at("such").textContent = unclear ? unclear.grouped : "";
}

// Round numbers near quantiles, close together where most values are.
function edges(column) {
  const sorted = [...column.sample].sort((a, b) => a - b);
  const nice = (x) => { const power = 10 ** Math.floor(Math.log10(Math.abs(x) || 1)); return Math.sign(x) * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((f) => f * power).reduce((a, b) => Math.abs(b - Math.abs(x)) < Math.abs(a - Math.abs(x)) ? b : a); };
  const found = [0.01, 0.05, 0.15, 0.3, 0.4, 0.5, 0.6, 0.75, 0.85, 0.9, 0.95, 0.99].map((share) => Number(nice(sorted[Math.floor(share * (sorted.length - 1))] || 0).toPrecision(6)));
  return [...new Set(found)].sort((a, b) => a - b);
}
// A rare text may be a person, and a comma separates labels in the form.
function labels(column) {
  return [...column.texts].filter(([text, n]) => n >= FEWEST && !text.includes(",")).sort((a, b) => b[1] - a[1]).slice(0, MOST_LABELS);
}
function pick(column) {
  const form = at("of-file"), before = chosen;
  chosen = column;
  form.elements.name1.value = column.name.toLowerCase().replace(/[^a-z0-9]+/g, "_").replace(/^_+|_+$/g, "").replace(/^(?![a-z])/, "v_").slice(0, 40);
  if (!form.elements.name.value || form.elements.name.value === before?.name) form.elements.name.value = column.name;
  form.elements.missing1.checked = column.filled < rows;
  as(column.kind);
}
function as(kind) {
  const form = at("of-file"), numbers = kind === "edges";
  form.elements.kind1.value = kind;
  form.elements.queries.value = numbers ? "prefix" : "histogram";
  const listed = numbers ? edges(chosen) : labels(chosen);
  form.elements.values1.value = numbers ? listed.join(", ") : listed.map(([text]) => text).join(", ");
  const held = numbers ? 0 : listed.reduce((sum, [, n]) => sum + n, 0);
  form.elements.other1.checked = !numbers && held < chosen.filled;
  at("labels").replaceChildren(...(numbers ? [] : listed.map(([text, n]) => shown(text, n))));
  at("kind-said").textContent = numbers
    ? (chosen.isNumber ? "Round numbers near where most values are. Finer steps cost precision." : "Some values are no numbers: read them as labels, or write the ends of steps yourself.")
    : `Texts of ${FEWEST} rows or more, ${MOST_LABELS} at most; all others count as “other”. Labels are sent: remove those that say who somebody is.`;
}
function shown(text, n) {
  const item = document.createElement("li"), remove = document.createElement("button");
  Object.assign(remove, { type: "button", textContent: "Remove" });
  remove.setAttribute("aria-label", `Remove ${text}`);
  remove.addEventListener("click", () => {
    const field = at("of-file").elements.values1;
    field.value = field.value.split(",").map((each) => each.trim()).filter((each) => each !== text).join(", ");
    at("of-file").elements.other1.checked = true;
    item.remove();
  });
  item.append(`${text}: ${count(n)} `, remove);
  return item;
}
const open = (file) => read(file).catch((error) => tell(`The file could not be read: ${error.message}`, true));
at("file").addEventListener("change", (event) => { at("comma").value = "decimal"; open(event.target.files[0]); });
at("comma").addEventListener("change", () => open(opened));
at("columns").addEventListener("change", (event) => pick(columns[Number(event.target.value)]));
at("of-file").elements.kind1.addEventListener("change", (event) => { if (chosen) as(event.target.value); });
at("from-file").hidden = false;
