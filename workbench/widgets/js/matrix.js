// The matrix loader: paste a printout, mark GPUs as free, taken, required or avoided, and see which k are best.
import { copyText } from "./clipboard.js";
import { acceptFiles, drawn, h, initialize, openPanel } from "./panel.js";
import { percent } from "./percent.js";
import { entryAt, latest, moved } from "./latest.js";

const ACROSS = 16;
// Longer texts stay in the kernel: a text area of megabytes would stop the page.
const MOST_TEXT = 300_000;
const GLYPH = { free: "", taken: "✕", required: "★", avoided: "⊘" };

function render(context) {
  const panel = openPanel(context, "matrix");
  const { root } = panel;
  let view = null;
  let focused = 0;
  let cursor = { row: 0, column: 1 };

  const paste = h("textarea", {
    rows: 4, spellcheck: "false", "aria-label": "printout",
    placeholder: "paste what nvidia-smi topo -m, p2pBandwidthLatencyTest, rocm-smi, npu-smi … printed, or drop a file",
  });
  const block = h("select", { "aria-label": "table of the printout", hidden: true, onchange: () => panel.attempt("block", { block: block.value }).then(show) });
  const notes = h("ul", { class: "wb-notes" });
  const slider = h("input", { type: "range", min: 1, max: 8, "aria-label": "number of GPUs k" });
  const kBox = h("input", { type: "number", min: 1, class: "wb-small", "aria-label": "k" });
  const rule = h("select", { "aria-label": "direction rule" },
    h("option", { value: "min" }, "slower direction"), h("option", { value: "max" }, "faster direction"),
    h("option", { value: "mean" }, "mean of both"));
  const classes = h("input", { type: "checkbox" });
  const asymmetry = h("input", { type: "checkbox" });
  const before = h("button", { "aria-label": "previous tie", onclick: () => step(-1) }, "◀");
  const after = h("button", { "aria-label": "next tie", onclick: () => step(1) }, "▶");
  const tie = h("span", {});
  const gpus = h("div", { class: "wb-gpus", role: "group", "aria-label": "GPUs" });
  const result = h("p", { class: "wb-result", "aria-live": "polite" });
  const line = h("code", { class: "wb-to-copy", "aria-label": "variables of the GPUs shown" });
  const copied = h("span", { class: "wb-quiet", role: "status" });
  const copying = h("div", { class: "wb-bar", title: "the GPUs shown, in the variables that programs read; numbers as nvidia-smi prints them" },
    "for a shell ", line, h("button", { title: "copy the variables, to stand before a command in a shell", onclick: copy }, "Copy"), copied);
  const near = h("ul", { class: "wb-notes", "aria-label": "near the GPUs shown" });
  const picture = h("div", { class: "wb-heatmap", tabindex: "0", "aria-label": "heat map: arrows read its entries",
    title: "GB/s from the GPU of a row to the GPU of a column; the legend below tells what colours, bars and frames mean" });
  const pointed = h("div", { class: "wb-pointed wb-quiet", role: "status" }, "point at an entry to read it");
  const machine = h("div", { class: "wb-machine" });
  const table = h("div", { class: "wb-choices" });
  const suspicious = h("ul", { class: "wb-suspicious" });
  const names = h("input", { "aria-label": "nodes", placeholder: "selected in the drawing, or node-.*", size: 34,
    title: "empty: what is selected in the drawing; else names of nodes or switches separated by commas, or patterns (RE2) of whole names" });
  // A message beside the button, because the panel's own message line is far above.
  const assigned = h("div", { role: "status" });
  const sayAssigned = (text, kind) => assigned.replaceChildren(h("div", { class: "wb-message", "data-kind": kind }, text));
  const assigning = h("div", { class: "wb-bar", hidden: true },
    h("label", {}, "Assign to nodes ", names), h("button", { title: "nodes of as many GPUs have this matrix from now on", onclick: assign }, "Assign"), assigned);
  const answers = h("div", { hidden: true },
    h("div", { class: "wb-bar" },
      h("label", { title: "how many GPUs a pod gets" }, "GPUs to choose, k ", slider), kBox, h("label", {}, "pair counts by ", rule),
      h("label", { title: "take bandwidths that differ by less than 10 % as equal, so that noise does not decide" }, classes, " link classes first"),
      h("label", { title: "colour each pair by how far its two directions differ" }, asymmetry, " show asymmetry"),
      h("span", { class: "wb-ties" }, before, tie, after)),
    gpus,
    h("p", { class: "wb-quiet wb-hint" },
      h("button", { onclick: () => toggle(view.states.map((_, i) => i), "free") }, "all free / none"),
      " click or Space: free / taken ✕ · Ctrl-click or R: required ★ · Shift-click or A: avoid ⊘ · also in the graph, a box for all in it"),
    result, copying, near,
    h("div", { class: "wb-columns" }, h("div", {}, picture, pointed), h("div", { class: "wb-side" }, machine, table)),
    suspicious, assigning);
  // Pasted text is in the text area after the event, where the user can correct it.
  paste.addEventListener("paste", () => setTimeout(() => load({ text: paste.value, name: "pasted text" })));
  const searchedFor = h("span", {});
  const searching = h("div", { class: "wb-bar wb-searching", role: "status", hidden: true },
    searchedFor, h("button", { onclick: () => panel.attempt("cancel").then(show) }, "Cancel"));
  const files = acceptFiles(root, take);
  root.append(
    h("div", { class: "wb-bring" }, paste,
      h("div", {}, h("button", { onclick: files.choose }, "Open file …"),
        h("button", { onclick: () => load({ text: paste.value, name: "pasted text" }) }, "Load text"), block)),
    panel.message, panel.busy, searching, notes, answers,
  );

  const change = latest((body) => panel.attempt("change", body).then(show));
  slider.addEventListener("input", () => change({ k: Number(slider.value) }));
  kBox.addEventListener("change", () => change({ k: Number(kBox.value) }));
  rule.addEventListener("change", () => change({ symmetric: rule.value }));
  classes.addEventListener("change", () => change({ link_classes: classes.checked }));
  asymmetry.addEventListener("change", () => change({ asymmetry: asymmetry.checked }));

  // ---- loading a printout ----

  async function take(text, name, file) {
    const bytes = new Uint8Array(await file.arrayBuffer());
    // The text area is for reading and correcting text, not for binary data or megabytes.
    paste.value = bytes.includes(0) || text.length > MOST_TEXT ? "" : text;
    paste.scrollTop = 0;
    await load(bytes.includes(0) ? { data: base64(bytes), name } : { text, name });
  }
  async function load(body) {
    const answer = await panel.attempt("load", body);
    if (answer === undefined) return;
    if (answer.error) {
      panel.say(answer.error);
      if (answer.line) selectLine(paste, answer.line);
      return;
    }
    focused = 0;
    assigned.replaceChildren();
    show(answer);
  }

  // ---- asking ----

  async function toggle(which, how) {
    show(await panel.attempt("toggle", { gpus: which, how }));
  }
  async function toggleOne(gpu, how) {
    focused = gpu;
    await toggle([gpu], how);
    gpus.children[focused].focus();
  }
  const meaning = (event) => (event.ctrlKey || event.metaKey ? "require" : event.shiftKey ? "avoid" : "free");
  // Clicks in the picture of the machine: one GPU, or all GPUs of an island by its box.
  machine.addEventListener("click", (event) => {
    const one = event.target.closest("[data-gpu]");
    const many = event.target.closest("[data-gpus]");
    if (one) toggle([Number(one.dataset.gpu)], meaning(event));
    else if (many) toggle(many.dataset.gpus.split(" ").map(Number), meaning(event));
  });
  function step(by) {
    const count = view.best.ties.length;
    change({ shown: `tie ${(Math.max(view.tie, 0) + by + count) % count}` });
  }
  async function assign() {
    try {
      const { nodes } = await panel.ask("assign", { names: names.value });
      sayAssigned(`assigned to ${nodes.length} ${nodes.length === 1 ? "node" : "nodes"}: ${nodes.slice(0, 8).join(", ")}${nodes.length > 8 ? ", …" : ""}`, "note");
    } catch (error) {
      sayAssigned(error.message, "error");
    }
  }
  async function copy() {
    const done = await copyText(line.textContent);
    // What could not be copied is selected, so that one key copies it.
    if (!done) root.ownerDocument.getSelection().selectAllChildren(line);
    copied.textContent = done ? "copied" : "selected: press Ctrl+C to copy";
  }
  const read = latest(async ({ row, column }) => {
    const answer = await panel.attempt("pair", { from: row, to: column });
    if (answer) pointed.textContent = answer.text;
  });
  const entries = () => picture.querySelector(".tw-entries");
  picture.addEventListener("pointermove", (event) => {
    const found = entryAt(entries().getBoundingClientRect(), event.clientX, event.clientY, view.n);
    if (!found || (found.row === cursor.row && found.column === cursor.column)) return;
    cursor = found;
    read(cursor);
  });
  picture.addEventListener("keydown", (event) => {
    const at = moved(event.key, cursor.row * view.n + cursor.column, view.n * view.n, view.n);
    if (at < 0) return;
    event.preventDefault();
    cursor = { row: Math.floor(at / view.n), column: at % view.n };
    read(cursor);
  });
  gpus.addEventListener("keydown", (event) => {
    const at = [...gpus.children].indexOf(event.target);
    const how = { " ": "free", Enter: "free", r: "require", a: "avoid" }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = moved(event.key, at, view.n, ACROSS);
    if (how === undefined && next < 0) return;
    event.preventDefault();
    if (how !== undefined) toggleOne(at, how);
    else focus(next);
  });
  function focus(gpu) {
    gpus.children[focused].tabIndex = -1;
    focused = gpu;
    gpus.children[focused].tabIndex = 0;
    gpus.children[focused].focus();
  }

  // ---- drawing ----

  function search(text) {
    searchedFor.textContent = `${text} … `;
    searching.hidden = false;
  }
  function show(next) {
    if (next?.busy) search(next.busy);
    if (!next || next.n === undefined) return;
    searching.hidden = true;
    view = next;
    assigning.hidden = !view.can_assign;
    answers.hidden = view.n === 0;
    if (view.n === 0) return;
    if (cursor.row >= view.n || cursor.column >= view.n) cursor = { row: 0, column: 0 };
    for (const box of [slider, kBox]) {
      box.max = view.n;
      box.value = view.k;
    }
    rule.value = view.symmetric;
    classes.checked = view.link_classes;
    asymmetry.checked = view.asymmetry;
    showTies();
    showGpus();
    notes.replaceChildren(h("li", {}, `${view.n} GPUs from ${view.source}${view.format ? ` (${view.format})` : ""}`),
      ...view.notes.map((note) => h("li", {}, note)));
    block.hidden = view.blocks.length < 2;
    block.replaceChildren(...view.blocks.map((name) => h("option", { value: name, selected: name === view.block }, name)));
    result.textContent = view.sentence;
    copying.hidden = view.to_copy === "";
    if (line.textContent !== view.to_copy) copied.textContent = "";
    line.textContent = view.to_copy;
    near.replaceChildren(...view.near.map((text) => h("li", {}, text)));
    drawn(picture, view.heatmap);
    drawn(machine, view.machine);
    const row = table.contains(root.ownerDocument.activeElement) && root.ownerDocument.activeElement.closest("tr").dataset.policy;
    table.replaceChildren(choicesTable());
    // Keep the keyboard focus on the row where it was.
    if (row) [...table.querySelectorAll("tr")].find((r) => r.dataset.policy === row)?.querySelector("button").focus();
    suspicious.replaceChildren(...view.suspicious.map((text) => h("li", {}, `⚠ ${text}`)));
  }
  function showTies() {
    const count = view.best.ties.length;
    tie.textContent = ` ${view.ties_text} `;
    before.disabled = after.disabled = count < 2;
  }
  function showGpus() {
    const named = view.n <= ACROSS;
    focused = Math.min(focused, view.n - 1);
    gpus.dataset.many = String(!named);
    gpus.replaceChildren(...view.states.map((state, i) => h("button", {
      "aria-pressed": String(state !== "taken"), "data-state": state, tabindex: i === focused ? "0" : "-1",
      "aria-label": `${view.labels[i]}, ${state}`, title: `GPU ${i}, ${view.labels[i]}: ${state}`,
      "data-chosen": String(view.shown_gpus.includes(i)),
      onclick: (event) => toggleOne(i, meaning(event)),
    }, `${named ? view.labels[i] : i}${GLYPH[state]}`)));
  }
  function choicesTable() {
    const best = view.best;
    const rows = [{ policy: "best", gpus: best.gpus, bottleneck_gb_s: best.bottleneck_gb_s, note: view.best_note, of_best: null }, ...view.choices];
    return h("table", {},
      h("thead", {}, h("tr", {}, ...["shown", "GPUs", "GB/s", "of best", ""].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map((row) => h("tr", { "data-policy": row.policy },
        h("th", { scope: "row" }, row.colour ? h("span", { class: "wb-swatch", style: `background:${row.colour}` }) : null,
          h("button", { "aria-pressed": String(view.shown === row.policy), onclick: () => change({ shown: row.policy }) }, row.policy)),
        h("td", {}, short(row.gpus)),
        h("td", {}, row.gpus.length ? (row.bottleneck_gb_s === null ? "–" : String(Number(row.bottleneck_gb_s.toPrecision(4)))) : ""),
        h("td", {}, row.of_best === null ? "" : percent(row.of_best)),
        h("td", { class: "wb-quiet" }, row.note)))));
  }

  panel.on("view", show);
  panel.on("searching", ({ text }) => search(text));
  panel.on("failed", (error) => {
    searching.hidden = true;
    panel.say(error);
  });
  panel.attempt("state").then((state) => {
    show(state);
    panel.ready();
  });
  return panel.close;
}

const short = (gpus) => (gpus.length > 12 ? `${gpus.slice(0, 12).join(", ")}, … (${gpus.length})` : gpus.join(", "));

function base64(bytes) {
  let text = "";
  for (let i = 0; i < bytes.length; i += 32_768) text += String.fromCharCode(...bytes.subarray(i, i + 32_768));
  return btoa(text);
}

/** Select one line of a text area, counted from 1, and bring it into view. */
function selectLine(area, line) {
  const lines = area.value.split("\n");
  if (line > lines.length) return;
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + lines[line - 1].length);
  area.scrollTop = Math.max(0, (line - 2) * (area.scrollHeight / lines.length));
}

export default { initialize, render };
