// The topology editor: sends operations, draws patches.
import { Canvas } from "./canvas.js";
import { placeCard } from "./card.js";
import { listenToClipboard } from "./clipboard.js";
import { NEARLY_SAME, foldToRead } from "./folding.js";
import { gpuQuestion } from "./gpu_question.js";
import { helpOverlay } from "./help.js";
import { inspect } from "./inspector.js";
import { Items, ROOT } from "./items.js";
import { acceptFiles, download, h, initialize, loadingLine, openPanel } from "./panel.js";
import { presetForm } from "./presets.js";
import { yamlPane } from "./yaml_pane.js";

// Proportions that a drawing takes on.
const [TALLEST, WIDEST] = [0.9, 2.4];
// Of an edit of more items not all are kept unfolded.
const FEW = 50;
// With more items one picture takes seconds; unfolding stops before this number.
const DRAWN_AT_MOST = 6000;
// More findings of one rule are folded under its name.
const OPEN_FINDINGS = 5;

function render(context) {
  const panel = openPanel(context, "editor");
  const { root, attempt, say } = panel;
  const items = new Items();
  // Identifies this view in its edits.
  const view = Math.floor(Math.random() * 2 ** 50);
  let revision = -1;
  let selected = [];
  let pane = null;
  // Names of the HyperNodes in the text beside the drawing; null: all of them.
  let inText = null;
  // Switches that were opened, in groups, the latest last; and the room for which the others were folded.
  let opened = [];
  let arranged = { w: 0, h: 0 };
  // Whether somebody asked for more than can be read: then edits fold nothing.
  let asAsked = false;

  const button = (text, title, run, more = {}) => h("button", { title, onclick: run, ...more }, text);
  const undo = button("↶ Undo", "Ctrl+Z", () => attempt("undo"));
  const redo = button("↷ Redo", "Ctrl+Shift+Z", () => attempt("redo"));
  const search = h("input", { type: "search", size: 24, placeholder: "name or label:key=value", "aria-label": "search",
    title: "part of a name, a regular expression (RE2), or label:key=value",
    onchange: find });
  const count = h("output", { class: "wb-quiet" });
  const range = {
    spines: h("input", { type: "number", min: 0, value: 0, class: "wb-small", "aria-label": "spines",
      title: "switches with so many leaves each; 0: leaves only" }),
    leaves: h("input", { type: "number", min: 1, value: 32, class: "wb-small", "aria-label": "leaves" }),
    nodes: h("input", { type: "number", min: 0, value: 16, class: "wb-small", "aria-label": "nodes of each" }),
    gpus: h("input", { type: "number", min: 0, value: 8, class: "wb-small", "aria-label": "GPUs of each node" }),
    model: h("input", { size: 5, placeholder: "H100", title: "model of the GPUs, kept as a label of the nodes", "aria-label": "GPU model" }),
  };
  const drawing = h("div", { class: "wb-canvas", tabindex: "0", role: "application", "aria-label": "drawing of the topology" });
  const legend = h("div", { class: "wb-legend", "aria-label": "legend" });
  const form = h("div", { class: "wb-inspector" });
  const hidden = h("p", { class: "wb-quiet", hidden: true });
  const text = h("div", { class: "wb-yaml", hidden: true });
  const findings = h("div", { class: "wb-findings" });
  const side = h("div", { class: "wb-side" }, hidden, form, findings);
  const question = gpuQuestion((ids, gpus) => edit({ op: "set", ids, fields: { gpus } }));
  const presets = presetForm((body) => panel.ask("preset", body), (body) => addAndSelect({ op: "preset", ...body }));
  const presetButton = button("Presets …", "fabrics with a name: choose one, see what it makes, draw it in one step", () => {
    presetButton.ariaPressed = String(presets.toggle());
  }, { "aria-pressed": "false" });
  const format = h("select", { "aria-label": "format" });
  const yamlButton = button("YAML", "HyperNodes as YAML beside the drawing", toggleText, { "aria-pressed": "false" });

  const loading = loadingLine(panel, imported);
  // Running jobs that lose pods by what has failed in the drawing, and what policies would do with them.
  const lost = h("div", { class: "wb-lost", role: "status", hidden: true });
  const restarts = h("div", { class: "wb-lost wb-restarts", hidden: true });

  root.append(
    h("div", { class: "wb-bar" },
      palette("switch", "+ switch"), palette("node", "+ node"),
      h("span", {}, range.spines, " spines × ", range.leaves, " leaves × ", range.nodes, " nodes × ", range.gpus, " GPUs ", range.model, " ",
        button("Add", "under the selected switch if its tier leaves room, or else at the top; click an empty place to select nothing", addRange)), presetButton,
      undo, redo,
      button("Group", "put a switch above what is selected (G)", group),
      button("Delete", "Delete", remove),
      search,
      button("Fit", "zoom to the selection, or to everything (F)", fit),
      button("Fold", "fold every switch that holds nodes only", foldLeaves),
      button("Unfold", "unfold the next level under the selection, or of everything (U)", unfold),
      yamlButton,
      button("Import …", "a file in any format; or drop it onto the drawing, or paste it there", () => files.choose()),
      button("Export", "in the format beside it", exportText), format,
      button("?", "keys and gestures (?)", () => help.toggle(drawing)), count),
    presets.element, loading.element, lost, restarts, panel.busy,
    // The message stands over the drawing: a line that came and went above it would move what is being clicked.
    h("div", { class: "wb-editor-body" }, h("div", { class: "wb-stage" }, drawing, question.element, panel.message), side, text), legend);
  const card = placeCard(root);
  const help = helpOverlay(root);
  const hint = h("div", { class: "wb-empty", hidden: true }, h("p", {}, "Drag “+ switch” onto this place, or click here and press S."),
    h("p", {}, "Or set the numbers beside “Add” and click it: leaves with their nodes, and spines above them."),
    h("p", {}, "Or drop a file here: HyperNodes, Slurm’s topology.conf, GraphML, ibnetdiscover … “?” lists the keys."));
  drawing.append(hint);
  const files = acceptFiles(drawing, (text, name) => loading.send("import", { text, name }));
  listenToClipboard(drawing, {
    copy,
    paste: (mark) => addAndSelect({ op: "paste", mark, parent: parentForNew("node") }),
    pasteText: (pasted) => loading.send("import", { text: pasted, name: "pasted text" }),
  });

  const canvas = new Canvas(drawing, root, items, {
    select: (drawn, more) => select(more ? [...drawn, ...selected.filter((id) => !canvas.isDrawn(id))] : drawn),
    move: async (id, parent) => (await edit({ op: "move", ids: selected.includes(id) ? selected : [id], parent })) ?? canvas.draw(),
    fold: toggleFold,
    resized: () => {
      const { w, h: height } = canvas.room;
      if (w === 0 || canvas.held || (Math.abs(w - arranged.w) < NEARLY_SAME && Math.abs(height - arranged.h) < NEARLY_SAME)) return;
      arrange();
      canvas.draw();
      drawnTo();
    },
    moved: (id) => (selected.includes(id) ? selected : [id]),
    point: (id, box) => (id === null ? card.hide() : card.offer(() => cardOf(id), () => box)),
  });
  const cardOf = (id) => panel.ask("card", { id }).catch(() => undefined);
  drawing.addEventListener("blur", card.hide);
  drawing.addEventListener("pointerleave", card.hide);

  function edit(op) {
    return attempt("edit", op);
  }

  /** Lay everything out afresh for the room that the drawing has now; what folded by itself may open. */
  function arrange() {
    asAsked = false;
    arranged = canvas.room;
    if (arranged.w > 0) items.aspect = Math.min(Math.max(arranged.w / arranged.h, TALLEST), WIDEST);
    items.unfoldAll();
    items.tidy();
    foldToRead(items, arranged, opened);
  }

  /** Draw and fit everything after switches were folded or opened. */
  function redraw() {
    if (!asAsked) foldToRead(items, canvas.room, opened);
    canvas.draw();
    canvas.choose(selected);
    canvas.fit();
    drawnTo();
  }

  const number = (value) => value.toLocaleString("en");

  /** Send an edit that adds items; this view selects the topmost new items as soon as they are drawn. */
  const addAndSelect = (op) => edit({ ...op, select_in: view });

  function select(ids) {
    const before = selected.join();
    selected = ids.filter((id) => items.get(id) !== undefined);
    inspect(form, selected.map((id) => items.get(id)), edit);
    canvas.markHolding(selected);
    countHidden();
    if (selected.join() !== before) attempt("select", { ids: selected });
    if (pane !== null) refreshText();
  }

  /** Show how many of the selected items are not drawn. */
  function countHidden() {
    const count = selected.filter((id) => !canvas.isDrawn(id)).length;
    hidden.hidden = count === 0;
    hidden.textContent = `${number(selected.length)} selected, ${number(count)} of them in folded switches; edits change all of them.`;
  }

  /** Select items; unfold switches that hide them, unless too many items would be drawn. */
  function show(ids, zoom = false) {
    const revealed = items.reveal(ids, DRAWN_AT_MOST);
    if (revealed.length > 0) {
      opened.push(revealed);
      redraw();
    }
    canvas.choose(ids);
    select(ids);
    if (zoom) canvas.fit(ids);
  }

  function marks({ revision: now, undo: back, redo: forth, lost: lostNow = "" }) {
    revision = now;
    lost.textContent = lostNow;
    lost.hidden = lostNow === "";
    undo.disabled = !back;
    undo.title = back ? `undo ${back} (Ctrl+Z)` : "nothing to undo";
    redo.disabled = !forth;
    redo.title = forth ? `redo ${forth} (Ctrl+Shift+Z)` : "nothing to redo";
    count.textContent = `${number(items.switches)} HyperNodes, ${number(items.byId.size - items.switches)} nodes`;
  }

  function begin(state) {
    if (state === undefined) return;
    items.reset(state.items);
    opened = [];
    format.replaceChildren(...state.formats.map((name) => h("option", { value: name, selected: name === "hypernodes" }, name)));
    presets.offer(state.presets);
    arrange();
    marks(state);
    canvas.draw();
    canvas.fit();
    select([]);
    drawnTo();
    question.ask(state.without_gpus);
    showRestarts(state.restarts);
  }

  /** Publish the version and size of the picture for tests and benchmarks. */
  function drawnTo() {
    root.dataset.revision = String(revision);
    root.dataset.drawn = String(canvas.size);
    hint.hidden = items.byId.size > 0;
    canvas.explain(legend);
    card.hide();
    countHidden();
  }

  panel.on("patch", async (patch) => {
    // If this view missed a patch while it was being opened, ask for the whole state.
    const selects = patch.view === view;
    if (revision >= 0 && patch.revision > revision + 1) {
      begin(await attempt("state"));
      return selects && show(patch.selected);
    }
    if (patch.revision <= revision) return undefined;
    const first = items.byId.size === 0;
    const grows = patch.set.some(({ id }) => items.get(id) === undefined);
    items.apply(patch);
    question.keep((id) => items.get(id) !== undefined && !items.get(id).gpus);
    marks(patch);
    if (selects) {
      selected = patch.selected;
      const revealed = selected.length > FEW ? [] : items.reveal(selected);
      if (revealed.length > 0) opened.push(revealed);
    }
    if (first) arrange();
    else if (grows && !canvas.held && !asAsked) {
      const many = patch.set.length > FEW;
      const touched = many ? [] : patch.set.flatMap(({ id }) => items.above(id)).filter((id) => !items.folded.has(id));
      foldToRead(items, canvas.room, opened, touched, many ? 0 : 1);
    }
    canvas.draw();
    if (first) canvas.fit();
    else canvas.refit();
    canvas.choose(selected);
    select(selected);
    drawnTo();
    lintSoon();
    return undefined;
  });

  function showRestarts({ policies, rows }) {
    restarts.hidden = rows.length === 0;
    restarts.replaceChildren(h("table", { "aria-label": "what each policy would do" },
      h("thead", {}, h("tr", {}, ...["running job", "pods", ...policies].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, ...rows.map(({ job, loss, told }) => h("tr", {}, h("th", { scope: "row" }, job), ...[loss, ...told].map((text) => h("td", {}, text)))))));
  }
  panel.on("restarts", showRestarts);

  panel.on("without_gpus", ({ ids }) => question.ask(ids));

  // ---- findings of the linter, shown at their items ----

  let linting = 0;
  function lintSoon() {
    clearTimeout(linting);
    linting = setTimeout(lint, 600);
  }

  const lint = () => panel.ask("lint").catch(() => undefined);

  panel.on("findings", (answer) => {
    const worst = new Map();
    for (const { id, severity } of answer.findings) {
      if (id !== 0 && severity !== "note" && worst.get(id) !== "error") worst.set(id, severity);
    }
    canvas.setFindings(worst);
    canvas.explain(legend);
    const groups = new Map();
    for (const finding of answer.findings) groups.set(finding.rule, [...(groups.get(finding.rule) ?? []), finding]);
    const total = answer.findings.length + answer.more;
    findings.replaceChildren(h("h4", {}, ["no findings", "1 finding"][total] ?? `${total} findings`),
      ...[...groups.values()].map(findingGroup));
    root.dataset.findings = String(answer.findings.length);
  });

  /** The findings of one rule under its name, folded if there are many. */
  function findingGroup(group) {
    const [{ rule, severity, what_to_do: remedy }] = group;
    return h("details", { class: `wb-${severity}`, open: group.length <= OPEN_FINDINGS },
      h("summary", { title: remedy }, h("strong", {}, rule), ` ${group.length}`),
      h("p", { class: "wb-quiet" }, remedy),
      h("ul", {}, ...group.map((finding) => h("li", { class: `wb-${severity}`, tabindex: finding.id ? 0 : -1,
        onclick: () => finding.id && show([finding.id], true),
        onkeydown: (event) => event.key === "Enter" && finding.id && show([finding.id], true) }, finding.message, fixButton(finding)))));
  }

  /** A button for a finding that has exactly one remedy. */
  function fixButton({ fix, rule, hypernode, field }) {
    if (!fix) return null;
    const run = (event) => {
      event.stopPropagation(); // the line around it shows the item
      edit({ op: "fix", rule, hypernode, field });
    };
    return h("button", { class: "wb-fix", title: `${fix}; Ctrl+Z takes it back`, onclick: run, onkeydown: (event) => event.stopPropagation() }, "Fix");
  }

  // ---- files ----

  async function imported({ name, made }) {
    const without = await attempt("without_gpus");
    if (without !== undefined) question.ask(without.ids);
    say(`${name}: ${made} changes; Ctrl+Z takes them back`, "note");
  }

  async function exportText() {
    const written = await attempt("export", { format: format.value });
    if (written === undefined) return;
    download(written.name, written.text);
    if (written.losses.length > 0) say(`${format.value} cannot hold: ${written.losses.join("; ")}`, "note");
  }

  // ---- adding ----

  const parentForNew = (kind) => items.parentForNew(selected[0], kind);

  async function add(kind, parent = parentForNew(kind)) {
    await addAndSelect(kind === "switch" ? { op: "add_switches", parent, tier: parent === ROOT ? newTop() : undefined }
      : { op: "add_nodes", parent, ...gpus() });
  }

  /** Tier of a new root: 3 for the first, which leaves two tiers below it, else the tier of the first root. */
  function newTop() {
    const roots = items.children(ROOT).filter((item) => item.kind === "switch");
    return roots.length > 0 ? Math.max(...roots.map((item) => item.tier ?? 1)) : 3;
  }

  const gpus = () => ({ gpus: Number(range.gpus.value), gpu_model: range.model.value });

  async function addRange() {
    const spines = Number(range.spines.value);
    await addAndSelect({ op: "add_switches", parent: items.parentForNew(selected[0], "switch", spines > 0 ? 2 : 1), spines,
      count: Number(range.leaves.value), nodes_each: Number(range.nodes.value), ...gpus(), prefix: "leaf-" });
  }

  /** A button that adds an item: a click adds it at the selection, a drag where the button is dropped. */
  function palette(kind, label) {
    let ghost = null;
    const element = h("button", { class: "wb-palette", title: `click: under the selected switch; or drag onto the drawing (${kind === "switch" ? "S" : "N"})`,
      onpointerdown: (event) => {
        element.setPointerCapture(event.pointerId);
        ghost = h("div", { class: "wb-ghost" }, label);
        root.append(ghost);
        follow(event);
      },
      onpointermove: (event) => ghost !== null && follow(event),
      onpointerup: (event) => {
        ghost?.remove();
        ghost = null;
        canvas.mark(null);
        const under = canvas.switchUnder(event.clientX, event.clientY);
        add(kind, under ?? undefined);
      },
      onkeydown: (event) => (event.key === "Enter" || event.key === " ") && add(kind),
    }, label);
    function follow(event) {
      const box = root.getBoundingClientRect();
      ghost.style.left = `${event.clientX - box.left + 8}px`;
      ghost.style.top = `${event.clientY - box.top + 8}px`;
      const under = canvas.switchUnder(event.clientX, event.clientY);
      canvas.markNew(under);
    }
    return element;
  }

  /** Make the kernel copy the selection; other programs get its names. */
  function copy(mark, cut) {
    if (selected.length === 0) return null;
    const ids = selected;
    attempt("copy", { ids, mark }).then((done) => done !== undefined && cut && edit({ op: "delete", ids }));
    return ids.map((id) => items.get(id).name).join("\n");
  }

  async function group() {
    if (selected.length === 0) return say("select what the new switch shall hold", "note");
    return addAndSelect({ op: "group", ids: selected });
  }

  function remove() {
    if (selected.length > 0) edit({ op: "delete", ids: selected });
  }

  // ---- finding and folding ----

  async function find() {
    const what = search.value.trim();
    if (what === "") return select([]);
    const body = what.startsWith("label:") ? { label: what.slice(6) } : { pattern: what };
    const found = await attempt("find", body);
    if (found === undefined) return undefined;
    if (found.ids.length === 0) return say(`nothing matches ${what}`, "note");
    return show(found.ids, true);
  }

  /** Select everything, including items hidden by folded switches. */
  function selectAll() {
    const ids = [...items.byId.keys()];
    canvas.choose(ids);
    select(ids);
  }

  function toggleFold(id) {
    if (!items.hasChildren(id)) return;
    opened = opened.map((group) => group.filter((one) => one !== id)).filter((group) => group.length > 0);
    if (items.unfold(id)) opened.push([id]);
    else items.fold(id);
    redraw();
  }

  function foldLeaves() {
    asAsked = false;
    opened = [];
    for (const item of items.byId.values()) {
      if (item.kind === "switch" && items.hasChildren(item.id) && items.children(item.id).every((c) => c.kind === "node")) {
        items.fold(item.id);
      }
    }
    redraw();
  }

  function unfold() {
    const next = items.nextFolded(selected.length > 0 ? selected : [ROOT]);
    const more = next.reduce((sum, id) => sum + items.children(id).length, 0);
    if (canvas.size + more > DRAWN_AT_MOST) {
      say(`${more} more items would be drawn, at most ${DRAWN_AT_MOST} are; select a switch and unfold that`, "note");
      return;
    }
    for (const id of next) items.unfold(id);
    for (const id of next) for (const child of items.children(id)) if (items.hasChildren(child.id)) items.fold(child.id);
    // Whoever asks for a level gets it, however small its labels.
    opened = [[...opened.flat(), ...next]];
    asAsked = true;
    canvas.draw();
    canvas.choose(selected);
    canvas.fit(selected.flatMap((id) => [id, ...items.visible(id)]));
    drawnTo();
  }

  /** Zoom to the selection, or lay out and show everything. */
  function fit() {
    if (selected.length === 0) arrange();
    canvas.draw();
    canvas.fit(selected);
    drawnTo();
  }

  /** Set a flag of the selected items, or remove it if all have it. */
  function toggle(field) {
    const having = selected.filter((id) => field !== "cordoned" || items.get(id).kind === "node");
    if (having.length > 0) edit({ op: "set", ids: having, fields: { [field]: !having.every((id) => items.get(id)[field]) } });
  }

  // ---- YAML ----

  async function toggleText() {
    const open = pane === null;
    yamlButton.ariaPressed = String(open);
    text.hidden = !open;
    if (open) {
      pane = yamlPane(text, applyText);
      await refreshText();
    } else {
      pane.destroy();
      pane = null;
    }
  }

  async function refreshText() {
    // Never overwrite text that the user is editing or has to correct.
    const busy = () => pane === null || pane.view.hasFocus || text.dataset.line > 0;
    if (busy()) return;
    // The keys typed last belong to the text shown now; send them before it is replaced.
    await pane.flush();
    if (busy()) return;
    const answer = await attempt("text", { ids: selected });
    if (answer === undefined || busy()) return;
    inText = answer.names;
    pane.set(answer.text);
    pane.explain(answer.why);
  }

  async function applyText(content) {
    const answer = await attempt("apply_text", { text: content, names: inText });
    if (answer === undefined || pane === null) return;
    if (answer.line === 0) inText = answer.names;
    pane.mark(answer.line, answer.message);
    text.dataset.line = String(answer.line);
    say(answer.message);
  }

  // ---- keys ----

  const KEYS = {
    Delete: remove, Backspace: remove, f: fit, g: group,
    s: () => add("switch"), n: () => add("node"), "/": () => search.focus(), u: unfold, "?": () => help.toggle(drawing),
    c: () => toggle("cordoned"), x: () => toggle("failed"),
    F2: () => form.querySelector("input")?.select(), Escape: () => {
      card.hide();
      show([]);
    },
    Enter: () => selected.length === 1 && toggleFold(selected[0]),
    ArrowUp: () => step((item) => items.get(item.parent)),
    ArrowDown: () => step((item) => (items.folded.has(item.id) ? undefined : items.children(item.id)[0])),
    ArrowLeft: () => step((item) => sibling(item, -1)), ArrowRight: () => step((item) => sibling(item, 1)),
  };
  const WITH_CTRL = {
    z: () => attempt("undo"), y: () => attempt("redo"), Z: () => attempt("redo"),
    a: selectAll, f: () => search.focus(),
  };

  function step(next) {
    const item = items.get(selected[0]) ?? items.children(ROOT)[0];
    const found = item && (selected.length === 0 ? item : next(item));
    if (found === undefined) return;
    show([found.id]);
    card.offer(() => cardOf(found.id), () => canvas.boxOf(found.id), false);
  }

  function sibling(item, by) {
    const around = items.children(item.parent);
    return around[around.findIndex((other) => other.id === item.id) + by];
  }

  // JupyterLab takes the focus when a button is pressed; the click gives the focus back to the drawing.
  for (const kind of ["pointerdown", "pointerup", "click"]) {
    drawing.addEventListener(kind, () => drawing.focus({ preventScroll: true }));
  }
  drawing.addEventListener("keydown", (event) => {
    const run = event.ctrlKey || event.metaKey ? WITH_CTRL[event.key] : KEYS[event.key];
    if (run === undefined) return;
    event.preventDefault();
    run();
  });

  attempt("state").then((state) => {
    begin(state);
    if (state !== undefined) loading.resume(state);
    lintSoon();
    panel.ready();
  });

  // For the browser tests: sizes in pixels of the picture, its smallest symbol and its labels, and where links are; what is
  // drawn, and where an item is.
  root.pictureBox = () => {
    const { w, h: height } = canvas.cy.elements().renderedBoundingBox();
    const smallest = Math.min(...canvas.cy.nodes().map((n) => Math.min(n.renderedWidth(), n.renderedHeight())));
    return { width: w, height, smallest, label: canvas.labelSize, links: canvas.links.box() };
  };
  root.shown = (afresh) => {
    if (afresh) canvas.drawAfresh();
    return canvas.shown();
  };
  root.whereIs = (name) => {
    const node = canvas.cy.nodes().filter((n) => items.get(Number(n.id())).name === name);
    if (node.empty()) return null;
    const box = drawing.getBoundingClientRect();
    const { x, y } = node.renderedPosition();
    return { x: box.left + x, y: box.top + y, width: node.renderedWidth(), height: node.renderedHeight() };
  };

  return () => {
    clearTimeout(linting);
    pane?.destroy();
    canvas.destroy();
    panel.close();
  };
}

export default { initialize, render };
