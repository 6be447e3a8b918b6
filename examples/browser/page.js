// Asks one question with labels, shows what an answer would send, answers, and shows the account.
// Copy it into an app: where the question is asked stands in settings.json.
import { Caps, Client } from "./sordino-client/index.js";

const NANO = 1e9;
const CAPS = Caps.of({ perPeriod: "1", periodDays: 28, lifetime: "12" });
const SENTENCES = {
  recorded: "Your answer is recorded in this browser. Its report is sent within seconds.",
  already_answered: "This browser has answered already. Another answer is neither drawn nor sent.",
  not_open: "The question takes no answers any more. Nothing was spent.",
  not_assigned: "This browser is not asked this time. Nothing was spent.",
  opted_out: "You opted out. Nothing is answered or sent; what was spent stays in your account.",
};
const POLL_MS = 500;
const part = (id) => document.getElementById(id);
const epsilon = (nano) => `ε ${Number(nano) / NANO}`;
const percent = (share) => `${(100 * share).toFixed(1)} %`;

let client;
let campaign;
let law;

async function start() {
  const settings = await fetched("settings.json");
  // A browser may delete the account of a page that nobody comes back to. This page says so, and answers all the same.
  client = await Client.open({ server: settings.server, caps: CAPS, evictable: "allow" });
  campaign = await client.join(settings.campaign);
  showQuestion();
  await showAccount();
  setInterval(() => guarded(showAccount), POLL_MS);
}

async function fetched(name) {
  const answer = await fetch(name);
  if (!answer.ok) throw new Error(`${name} is not there: write {"server": "https://…", "campaign": "…"} into it`);
  return answer.json();
}

function showQuestion() {
  part("purpose").textContent = campaign.purpose;
  const odds = Math.exp(Number(campaign.guarantee) / NANO);
  part("guarantee").textContent =
    `Guarantee: ${epsilon(campaign.guarantee)}. Anyone who sees the report: their odds about your answer change at most ` +
    `${odds.toFixed(2)}-fold. From fifty-fifty at most to ${percent(odds / (1 + odds))}.`;
  part("choices").replaceChildren(...labels().map(choice));
  part("question").hidden = campaign.optedOut;
  if (campaign.optedOut) say(SENTENCES.opted_out);
}

/** The members of the campaign's one attribute. */
function labels() {
  const [attribute] = campaign.manifest.domain.attributes;
  return Array.from({ length: Number(attribute.size) }, (_, index) => attribute.label(BigInt(index)));
}

function choice(label) {
  const input = Object.assign(document.createElement("input"), { type: "radio", name: "answer", value: label, required: true });
  const line = document.createElement("label");
  line.append(input, ` ${label}`);
  return line;
}

const chosen = () => new FormData(part("question")).get("answer");

/** Draws nothing that counts: a preview debits nothing, and is thrown away. */
async function showPreview() {
  const value = chosen();
  const found = await client.preview(campaign, value);
  part("question").querySelector("button").disabled = false;
  part("preview").hidden = false;
  law ??= await lawOf(found).catch(() => undefined);
  // Another label was chosen meanwhile, which has a preview of its own.
  if (value !== chosen()) return;
  part("chances").replaceChildren(...(law ? labels().map((label) => chanceRow(label, law(label === value))) : []));
  const drawn = law ? `For example “${labels()[found.example[0]]}”, a draw that is thrown away. ` : "";
  part("draw").textContent = `${drawn}The report has ${found.uploadBytes} bytes and spends ${epsilon(found.guarantee)}.`;
}

/** The chance of the own label and of any other: randomized response has two integers, and other mechanisms no labels. */
async function lawOf({ server, plan }) {
  const { devicePart } = await import("./sordino-client/all.js");
  const answer = await fetch(`${server}/v1/plans/${plan}`, { credentials: "omit", referrerPolicy: "no-referrer" });
  const { randomizer } = devicePart.read(new Uint8Array(await answer.arrayBuffer()));
  if (randomizer.kind !== "randomized_response") return undefined;
  const [own, other] = randomizer.likelihoodRatio().map(Number);
  const all = own + (randomizer.size - 1) * other;
  return (isOwn) => (isOwn ? own : other) / all;
}

function chanceRow(label, chance) {
  const row = document.createElement("tr");
  const name = Object.assign(document.createElement("th"), { scope: "row", textContent: label });
  const bar = document.createElement("td");
  bar.append(Object.assign(document.createElement("progress"), { max: 1, value: chance, ariaHidden: "true" }));
  const number = Object.assign(document.createElement("td"), { className: "number", textContent: percent(chance) });
  row.append(name, bar, number);
  return row;
}

async function showAccount() {
  const account = await client.account();
  const own = account.campaigns.find((each) => each.campaign === campaign.id);
  const { caps } = account;
  part("spent").textContent = `${epsilon(own.spent)} of ${epsilon(campaign.guarantee)}`;
  part("days").textContent = `spent in ${caps.periodDays} days`;
  part("period").textContent = `${epsilon(account.period)} of ${epsilon(caps.perPeriod)}`;
  part("lifetime").textContent = `${epsilon(account.lifetime)} of ${epsilon(caps.lifetime)}`;
  part("waiting").textContent = own.waiting;
  part("kept").textContent =
    account.persistence === "durable"
      ? "It is kept in this browser alone."
      : "It is kept in this browser alone, which may delete it: then the browser counts as a new one.";
  part("leave").hidden = own.optedOut || !own.answers;
  showWay(own);
}

/** Whether the report is still here. */
function showWay({ answers, waiting, optedOut }) {
  part("send").hidden = optedOut || !waiting;
  if (optedOut) {
    part("question").hidden = true;
    say(SENTENCES.opted_out);
  } else if (waiting) {
    if (!part("status").textContent.includes("not reached")) say(SENTENCES.recorded);
  } else if (answers && part("status").dataset.status !== "already_answered") {
    say("Your report is at the server. Nobody there can be sure of your answer.");
  }
}

function say(text, status = "") {
  const line = part("status");
  line.dataset.status = status;
  // What is said twice is announced once.
  if (line.textContent !== text) line.textContent = text;
}

async function answer() {
  const { status } = await client.answer(campaign, chosen());
  say(SENTENCES[status] ?? status, status);
  await showAccount();
}

async function send() {
  const { waiting } = await client.flush({ patienceS: 5 });
  if (waiting) say("The server is not reached. The report stays here, and is sent when the server is back.");
  await showAccount();
}

async function leave() {
  await client.optOut(campaign);
  await showAccount();
}

/** Runs what a button does, and says what went wrong in the words of the SDK. */
async function guarded(work) {
  try {
    await work();
    part("trouble").hidden = true;
  } catch (error) {
    part("trouble").hidden = false;
    part("trouble").textContent = error.message;
  }
}

part("question").addEventListener("change", () => guarded(showPreview));
part("question").addEventListener("submit", (event) => {
  event.preventDefault();
  guarded(answer);
});
part("decline").addEventListener("click", () => guarded(leave));
part("send").addEventListener("click", () => guarded(send));
part("leave").addEventListener("click", () => guarded(leave));
guarded(start);
