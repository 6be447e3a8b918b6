// For `sordino demo --browser` alone: the person who answers is the operator, too, and ends the question. Leave it out of an app.
const part = (id) => document.getElementById(id);

function show(result) {
  part("close").hidden = true;
  part("told").textContent = "The question is closed. Anyone with this link sees the shares, and no answer of anybody.";
  Object.assign(part("result"), { hidden: false, href: result });
}

async function close() {
  part("close").disabled = true;
  part("told").textContent = "The server adds up the reports …";
  try {
    const answer = await fetch("close", { method: "POST" });
    const { result, detail } = await answer.json();
    if (!answer.ok) throw new Error(detail);
    show(result);
  } catch (error) {
    part("close").disabled = false;
    part("told").textContent = `The question could not be closed: ${error.message}. Look whether the command still runs.`;
  }
}

const settings = await fetch("settings.json").then((answer) => answer.json());
if (settings.closes) {
  part("end").hidden = false;
  if (settings.result) show(settings.result);
  part("close").addEventListener("click", close);
}
