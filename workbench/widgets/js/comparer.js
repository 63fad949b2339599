// The placement comparer: jobs, policies with parameters, and the outcome of each job, side by side.
import { placeCard } from "./card.js";
import { copyText } from "./clipboard.js";
import { fixPanel } from "./fix.js";
import { latest } from "./latest.js";
import { acceptFiles, download, drawn, h, initialize, openPanel } from "./panel.js";
import { Picture, grown } from "./picture.js";
import { leaveOutTiny } from "./tiny.js";
import { yamlPane } from "./yaml_pane.js";

// How what no file holds yet is saved under the name that a command uses.
const SAVED_BY = { "cluster.yaml": "the drawing, by Export, as cluster.yaml", "jobs.yaml": "the text of “Jobs …” as jobs.yaml" };

function render(context) {
  const panel = openPanel(context, "comparer");
  const { root, attempt, say } = panel;
  let choices = [];
  let chosen = [];
  let view = null;
  let marked = null;
  // The drawn picture of each policy.
  let frames = [];

  const policies = h("div", { class: "wb-policies" });
  const more = h("select", { "aria-label": "add a policy", onchange: () => {
    if (more.value) choose([...chosen, { name: more.value, parameters: {} }]);
    more.value = "";
  }, onfocus: refreshChoices });
  const progress = h("progress", { hidden: true, max: 1, value: 0, "aria-label": "progress" });
  const status = h("output", { class: "wb-quiet" });
  const cancel = h("button", { hidden: true, onclick: () => attempt("cancel") }, "Cancel");
  const jobsButton = h("button", { "aria-pressed": "false", title: "add jobs by form, as YAML or as files", onclick: toggleJobs }, "Jobs …");
  const jobs = h("div", { class: "wb-jobs", hidden: true });
  const configured = h("span", {});
  const larger = h("button", { "aria-pressed": "false", title: "pictures at their full size, or beside each other", onclick: () => {
    larger.ariaPressed = String(pictures.classList.toggle("wb-large"));
  } }, "Larger");
  const differences = h("button", { "aria-pressed": "false", title: "only the jobs that the policies put on different nodes, and the pods that move",
    onclick: () => {
      differences.ariaPressed = String(differences.ariaPressed !== "true");
      showTable();
    } }, "Differences");
  const pictures = h("div", { class: "wb-pictures" });
  const said = h("output", { class: "wb-quiet" });
  const slider = h("input", { type: "range", min: 0, class: "wb-steps", "aria-label": "decisions", oninput: () => {
    said.textContent = decided(Number(slider.value));
    step(Number(slider.value));
  } });
  const legend = h("div", { class: "wb-legend" });
  const steps = h("label", { class: "wb-bar", hidden: true, title: "how many decisions each picture shows, in the order in which they were taken" },
    "decisions ", slider, said);
  const table = h("div", { class: "wb-table" });
  const charts = h("div", { class: "wb-columns" });
  const detail = h("div", { class: "wb-detail", hidden: true });
  // The policy, by name, and the job that the detail explains or will explain, and whether it is still to be scrolled to.
  let explained = null;
  // What belongs to the last result is greyed as soon as its input has changed.
  const results = h("div", { class: "wb-results" }, table, detail, steps, pictures, legend, charts);
  function outdate(yes) {
    results.classList.toggle("wb-outdated", yes && view !== null);
  }
  root.append(
    h("div", { class: "wb-bar" }, policies, more, configured, jobsButton, larger, differences,
      h("button", { title: "save all of it as one HTML file", onclick: () => save("html") }, "Report"),
      h("button", { title: "save the numbers as a table", onclick: () => save("csv") }, "CSV"),
      h("button", { title: "save the pictures side by side as one SVG file", onclick: () => save("svg") }, "SVG"),
      h("button", { title: "save the pictures side by side as one PNG file", onclick: () => save("png") }, "PNG"),
      h("button", { title: "copy the line for a shell that repeats this comparison", onclick: copyCommand }, "Copy as command"),
      progress, cancel, status),
    panel.message, panel.busy, jobs, results);
  const card = placeCard(root);

  // ---- policies and their parameters ----

  async function refreshChoices() {
    const state = await panel.ask("choices").catch(() => null);
    if (state !== null) offer(state.choices);
  }

  function offer(found) {
    choices = found;
    const named = choices.filter((choice) => choice.kind !== "gpu");
    more.replaceChildren(h("option", { value: "" }, "+ policy"),
      h("option", { value: "field", title: "the twin of each scheduler: Volcano, Kueue, kube-scheduler" }, "field"), ...named.map((choice) =>
      h("option", { value: choice.name, title: choice.meaning }, choice.name)));
  }

  // A configuration is of the whole comparison: every policy that reads one runs with it.
  const configurations = acceptFiles(root, configure);
  async function configure(text, name) {
    await attempt("configure", { text, name });
  }
  function showConfigured({ config }) {
    configured.replaceChildren(config === null
      ? h("button", { title: "a volcano-scheduler.conf for every policy that reads one; or drop the file here", onclick: configurations.choose }, "Configuration …")
      : h("span", { class: "wb-policy", title: "every policy that reads a configuration runs with this one" }, config,
        h("button", { title: "run with the defaults again", "aria-label": `remove ${config}`, onclick: () => configure(null, "") }, "×")));
  }
  panel.on("configured", showConfigured);

  async function choose(next) {
    const done = await attempt("choose", { chosen: next });
    if (done === undefined) return;
    // What was asked for, but with policies in the place of "field".
    chosen = done.chosen;
    showPolicies();
  }

  function showPolicies() {
    // Keep the form open while the user sets several parameters.
    const open = [...policies.children].findIndex((form) => form.open);
    policies.replaceChildren(...chosen.map((one, i) => {
      const [node, gpu = ""] = one.name.split("+");
      const about = choices.find((choice) => choice.name === node);
      const gpus = choices.filter((choice) => choice.kind === "gpu");
      const rename = (name) => choose(chosen.map((other, j) => (j === i ? { ...other, name } : other)));
      return h("details", { class: "wb-policy", name: "wb-policy", open: i === open },
        h("summary", { title: about?.meaning ?? "" }, one.name,
          h("button", { title: `take ${one.name} away`, "aria-label": `remove ${one.name}`, onclick: (event) => {
            event.preventDefault();
            choose(chosen.filter((_, j) => j !== i));
          } }, "×")),
        h("div", { class: "wb-parameters" },
          about?.kind === "whole" ? null : h("label", { class: "wb-row", title: "who chooses the GPUs of a pod on its node; automatic: gpu-bottleneck where a matrix is known, else the lowest numbers" }, h("span", {}, "GPU policy"),
            h("select", { "aria-label": "GPU policy", onchange: (event) => rename(event.target.value ? `${node}+${event.target.value}` : node) },
              h("option", { value: "" }, "automatic"),
              ...gpus.map((choice) => h("option", { value: choice.name, selected: choice.name === gpu }, choice.name)))),
          ...(about?.parameters ?? []).filter((p) => p.type !== "configuration").map((p) => parameter(one, i, p))));
    }));
  }

  function parameter(one, i, about) {
    const set = (text) => {
      const parameters = { ...one.parameters };
      if (text === "") delete parameters[about.name];
      else parameters[about.name] = text;
      choose(chosen.map((other, j) => (j === i ? { ...other, parameters } : other)));
    };
    const value = one.parameters[about.name] ?? "";
    const input = h("input", { value, placeholder: written(about.default), title: about.meaning, "aria-label": about.name,
      onchange: (event) => set(event.target.value.trim()) });
    return h("label", { class: "wb-row" }, h("span", { title: about.meaning }, about.name), input);
  }

  /** A default as it would be typed: tables as name=number,… */
  function written(value) {
    return value !== null && typeof value === "object" ? Object.entries(value).map((pair) => pair.join("=")).join(",") : String(value ?? "");
  }

  // ---- jobs ----

  let pane = null;
  let jobText = "";
  function toggleJobs() {
    const open = pane === null;
    jobsButton.ariaPressed = String(open);
    jobs.hidden = !open;
    if (!open) {
      jobText = pane.text();
      pane.destroy();
      pane = null;
      jobs.replaceChildren();
      return;
    }
    const field = (name, type, value) => h("input", { name, type, value, class: "wb-small", min: 0 });
    const tier = field("tier", "number", 1);
    // Only a hard job has a highest tier; disabled fields are not sent.
    tier.disabled = true;
    const mode = h("select", { name: "mode", "aria-label": "network topology", onchange: () => (tier.disabled = mode.value !== "hard") },
      ...["none", "hard", "soft"].map((m) => h("option", { value: m }, m)));
    const form = h("form", { class: "wb-bar", onsubmit: addJob },
      h("label", {}, "name ", h("input", { name: "name", value: "job-1", size: 10 })),
      h("label", {}, "pods ", field("pods", "number", 8)), h("label", {}, "GPUs each ", field("gpus", "number", 8)),
      h("label", {}, "CPUs each ", field("cpu", "number", 8)),
      h("label", { title: "hard: all pods within the highest tier, or pending; soft: as near as possible" }, "network topology ", mode),
      h("label", { title: "highest tier that a hard job may span" }, "highest tier ", tier),
      h("button", { type: "submit" }, "Add job"));
    const text = h("div", { class: "wb-job-text" });
    const files = acceptFiles(text, async (content, name) => {
      if (name.endsWith(".conf")) return configure(content, name);
      // A file of which no job can be read is refused before the text changes.
      const made = await attempt("add_file", { text: pane.text(), file: content.toWellFormed?.() ?? content, name });
      if (made === undefined) return undefined;
      pane.set(made.text);
      return takeJobs(pane.text());
    });
    jobs.append(form, h("div", { class: "wb-bar" }, h("button", { onclick: files.choose }, "Open file …"),
      h("span", { class: "wb-quiet" }, "Jobs as YAML; drop files here")), text);
    pane = yamlPane(text, takeJobs);
    pane.set(jobText);
  }

  async function addJob(event) {
    event.preventDefault();
    const data = Object.fromEntries(new FormData(event.target));
    for (const key of ["pods", "gpus", "cpu", "tier"]) if (key in data) data[key] = Number(data[key]);
    const made = await attempt("form", data);
    if (made === undefined) return;
    const before = pane.text().trim();
    pane.set((before ? `${before}\n` : "") + made.text);
    await takeJobs(pane.text());
    event.target.elements.name.value = data.name.replace(/\d*$/, (n) => String(Number(n || 0) + 1));
  }

  async function takeJobs(text) {
    jobText = text;
    const answer = await attempt("jobs", { text });
    if (answer === undefined || pane === null) return;
    pane.mark(answer.line, answer.message);
    say(answer.message);
    if (answer.line) outdate(true);
  }

  // ---- the run ----

  panel.on("choices", (state) => offer(state.choices));
  panel.on("progress", ({ total, done, policy }) => {
    progress.max = total;
    progress.value = done;
    status.textContent = policy;
    progress.hidden = cancel.hidden = false;
    root.dataset.running = "1";
    outdate(true);
  });
  function ended(text) {
    progress.hidden = cancel.hidden = true;
    status.textContent = text;
    root.dataset.running = "0";
  }
  panel.on("cancelled", () => {
    ended("cancelled; what is shown was compared before");
    outdate(true);
  });
  panel.on("failed", (_, content) => {
    ended("");
    outdate(true);
    say({ message: content.body.message, traceback: content.body.traceback });
  });
  panel.on("nothing", ({ missing }) => {
    ended({ cluster: "no node yet: draw a topology or load one", job: "no job yet: “Jobs …” adds one",
      policy: "no policy yet: “+ policy” adds one" }[missing]);
    view = null;
    show();
  });
  panel.on("result", (result) => {
    const jobsBefore = view?.jobs.map((job) => job.key).join();
    view = result;
    // The colour of a job depends on its position in the list.
    if (marked !== null && view.jobs.map((job) => job.key).join() !== jobsBefore) link(null);
    say("");
    outdate(false);
    const differ = view.jobs.filter((job) => job.differs).length;
    ended(`${view.jobs.length} ${view.jobs.length === 1 ? "job" : "jobs"}, ${differ} with different results`);
    root.dataset.results = String(Number(root.dataset.results ?? 0) + 1);
    show();
  });

  // The cause of a pending job comes after the result, because it is worked out by placing again.
  panel.on("cause", ({ number, policy, job, text }) => {
    if (view?.number !== number) return;
    const cell = view.jobs.find(({ key }) => key === job)?.cells[policy];
    if (cell === undefined) return;
    cell.text = text;
    const shown = [...table.querySelectorAll("[data-cause]")].find((one) => one.dataset.cause === `${policy} ${job}`);
    if (shown !== undefined) shown.textContent = text;
    if (explained !== null && explained.job === job && explained.policy === view.policies[policy].name) explain(policy, job, explained.reveal);
  });
  panel.on("job_text", ({ text }) => {
    jobText = text;
    pane?.set(text);
    pane?.mark(0, "");
  });

  /** Keep the explanation on its job after another result; the cause of a pending job follows later. */
  function explainAgain() {
    if (explained === null) return;
    const policy = view.policies.findIndex(({ name }) => name === explained.policy);
    const job = view.jobs.find(({ key }) => key === explained.job);
    if (policy < 0 || job === undefined) closeDetail();
    else if (job.cells[policy].outcome !== "pending") explain(policy, job.key, explained.reveal);
    else detail.classList.add("wb-outdated");
  }

  function closeDetail() {
    explained = null;
    detail.hidden = true;
    detail.replaceChildren();
  }

  function show() {
    if (view === null) {
      closeDetail();
      frames = [];
      steps.hidden = true;
      for (const element of [pictures, legend, table, charts]) element.replaceChildren();
      return;
    }
    const before = frames;
    card.hide();
    frames = view.policies.map((policy, i) => (policy.error ? failed(policy) : before[i]?.draw ? before[i] : framed(i)));
    view.policies.forEach((policy, i) => policy.error || frames[i].draw(policy, view.pictures[i]));
    if (frames.length !== before.length || frames.some((frame, i) => frame !== before[i])) {
      pictures.replaceChildren(...frames.map((frame) => frame.element));
    }
    slider.max = slider.value = mostSteps();
    said.textContent = "after all of them";
    drawn(legend, view.legend);
    steps.hidden = false;
    showTable();
    explainAgain();
    drawn(charts, view.charts.map((chart) => `<div>${chart}</div>`).join(""));
  }

  function failed({ name, error }) {
    return { element: h("div", { class: "wb-picture" }, h("strong", {}, name), h("div", { class: "wb-message" }, error.message,
      h("details", {}, h("summary", {}, "traceback"), h("pre", {}, error.traceback)))) };
  }

  // ---- the slider over the decisions of all policies ----

  const mostSteps = () => Math.max(0, ...view.policies.map(({ steps }) => steps.length));

  /** The last decision of those that the pictures show; policies are named where they decided about different jobs. */
  function decided(n) {
    if (n === 0) return "before any decision";
    const by = new Map();
    for (const { name, steps, error } of view.policies) {
      if (error) continue;
      const job = steps[n - 1] ?? "all decided";
      by.set(job, [...(by.get(job) ?? []), name]);
    }
    const jobs = [...by].map(([job, names]) => (by.size === 1 ? job : `${job} (${names.join(", ")})`));
    return `${n} of ${mostSteps()}: ${jobs.join("; ")}`;
  }

  const step = latest(async (n) => {
    const asked = view;
    const answer = await attempt("step", { steps: n });
    if (answer === undefined || view !== asked) return;
    answer.pictures.forEach((picture, i) => picture && frames[i].redraw(picture));
    if (marked !== null) link(marked);
  });

  // All pictures of the present result in full, for a view that missed a result in between.
  let whole = { of: null, pictures: null };
  function wholePictures() {
    if (whole.of !== view) whole = { of: view, pictures: attempt("step", { steps: mostSteps() }).then((answer) => answer?.pictures) };
    return whole.pictures;
  }

  /** The panel with one policy's picture; `draw(policy)` shows a result, `redraw(picture)` fewer decisions. */
  function framed(i) {
    const title = h("strong", { class: "wb-title" });
    const drawing = h("div", { class: "wb-drawing", tabindex: 0, role: "application",
      onpointerover: (event) => pointAt(picture.placeOf(event.target)), onpointerleave: card.hide,
      onfocus: (event) => event.target.matches(":focus-visible") && focusOn(at), onblur: leave, onkeydown: walk });
    const picture = new Picture(drawing);
    const time = h("div", { class: "wb-quiet" });
    // The place that the keyboard chose, and where the arrow keys lead from it.
    let at = null;
    let around = {};

    const ask = (place) => panel.ask("card", { policy: i, steps: Number(slider.value), kind: place?.kind, name: place?.name }).catch(() => undefined);
    function pointAt(place) {
      if (place === null) return card.hide();
      return card.offer(() => ask(place), () => place.element.getBoundingClientRect());
    }
    async function focusOn(place) {
      const found = await card.offer(() => ask(place), ({ kind, name }) => choose(picture.find(kind, name)).getBoundingClientRect(), false);
      if (found !== undefined) around = found.around;
    }
    function choose(place) {
      at = place;
      for (const old of drawing.querySelectorAll(".wb-at")) old.classList.remove("wb-at");
      at.element.classList.add("wb-at");
      return at.element;
    }
    function leave() {
      card.hide();
      at?.element.classList.remove("wb-at");
    }
    function walk(event) {
      const way = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" }[event.key];
      if (event.key === "Escape") leave();
      if (way === undefined) return undefined;
      event.preventDefault();
      const next = around[way];
      return next === undefined ? undefined : focusOn({ kind: next[0], name: next[1] });
    }

    // Picture of the last result, even if the slider shows another: the next result is sent as a delta against it.
    let last = { number: 0, groups: [], places: [] };
    async function draw(policy, told) {
      const { number } = view;
      title.textContent = policy.name;
      drawing.ariaLabel = `placements by ${policy.name}; arrow keys go from place to place`;
      time.textContent = `${policy.steps.length} ${policy.steps.length === 1 ? "decision" : "decisions"}, ${policy.milliseconds.toFixed(1)} ms`;
      let shown = told;
      if (told.since !== 0 && told.since !== last.number) {
        shown = (await wholePictures())?.[i];
        if (!shown || view?.number !== number) return;
      }
      last = { number, groups: grown(last.groups, shown.groups), places: shown.places ?? last.places };
      picture.draw({ frame: shown.frame, groups: last.groups, places: last.places });
      leaveOutTiny(element, drawing);
      at = null;
      around = {};
    }
    const element = h("div", { class: "wb-picture" }, title, drawing, time);
    new ResizeObserver(() => leaveOutTiny(element, drawing)).observe(drawing);
    return { element, draw, redraw: (shown) => picture.draw(shown) };
  }

  /** Cell with the value of a metric; bold if no policy has a better value. */
  function number({ text, best }) {
    return best ? h("b", { title: "the best of these policies" }, text) : text;
  }

  /** The table of all jobs, or of the differences, which are worked out only for this. */
  async function showTable() {
    if (view === null) return;
    if (differences.ariaPressed !== "true") {
      table.replaceChildren(resultTable());
      if (marked !== null) link(marked);
      return;
    }
    const asked = view;
    const found = await attempt("differences");
    if (found === undefined || view !== asked || found.number !== asked.number || differences.ariaPressed !== "true") return;
    table.replaceChildren(differenceTable(found.jobs));
    if (marked !== null) link(marked);
  }

  function differenceTable(found) {
    const alike = view.jobs.length - found.length;
    const said = h("p", { class: "wb-quiet" }, `Jobs on the same nodes by every policy: ${alike} of ${view.jobs.length}.`,
      found.length ? ` Arrows: pods that move against ${view.policies[0].name}.` : "");
    if (found.length === 0) return said;
    const rows = found.map(({ index, cells }) => jobRow(index, ...cells.map((cell, i) =>
      whyCell(i, index, h("strong", {}, cell.outcome), ...cell.moves.map((move) =>
        h("div", { class: "wb-move" }, h("span", { class: "wb-quiet" }, `${move.pods} ${move.role} `), move.from ?? "pending", h("span", { class: "wb-arrow" }, " → "), move.to ?? "pending")),
        cell.more ? h("div", { class: "wb-quiet" }, `and ${cell.more} more`) : null))));
    return h("div", {}, h("table", { class: "wb-differences" }, h("thead", {}, heading()), h("tbody", {}, ...rows)), said);
  }

  function heading(...columns) {
    // Policies share the width that is left evenly, whatever is written below them.
    const share = `width: ${Math.floor(100 / view.policies.length)}%`;
    return h("tr", {}, h("th", {}, "job"), ...columns.map((name) => h("th", {}, name)), ...view.policies.map((p) => h("th", { class: "wb-of-policy", style: share }, p.name)));
  }

  /** A line of a table about the job at a position; the pointer on it marks the job in the pictures. */
  function jobRow(index, ...cells) {
    const job = view.jobs[index];
    return h("tr", { "data-job": index, class: job.differs ? "wb-differs" : "", onmouseenter: () => link(index), onmouseleave: () => link(null) },
      h("th", {}, h("span", { class: "wb-swatch", style: `background: ${job.colour}` }), job.key), ...cells);
  }

  /** A cell that explains the decision of a policy on a job when it is clicked. */
  function whyCell(policy, index, ...content) {
    const job = view.jobs[index];
    // The whole cell answers, also below a short text beside a long one; the button is for the keyboard.
    return h("td", { class: `wb-cell wb-${job.cells[policy].outcome}`, onclick: () => explain(policy, job.key) },
      h("button", { class: "wb-explain", title: "why?" }, ...content));
  }

  function resultTable() {
    const metrics = view.metrics.map(({ heading, meaning, values }) => h("tr", { class: "wb-metric" },
      h("th", { title: meaning }, heading), h("td", {}), ...values.map((value) => h("td", {}, value === null ? "failed" : number(value)))));
    const rows = view.jobs.map((job, index) => jobRow(index, h("td", {}, String(job.pods)), ...job.cells.map((cell, i) =>
      whyCell(i, index, h("strong", {}, cell.outcome), " ", h("span", { "data-cause": `${i} ${job.key}` }, cell.text),
        ...cell.metrics.flatMap((metric) => [", ", h("span", { title: metric.meaning }, `${metric.heading} `, number(metric), metric.unit ? ` ${metric.unit}` : "")]),
        cell.outcome === "pending" ? h("span", { class: "wb-why" }, " why?") : null))));
    const warnings = view.policies.flatMap((p) => p.warnings.map((text) => h("li", {}, `${p.name}, ${text}`)));
    return h("div", {}, h("table", {}, h("thead", {}, heading("pods")), h("tbody", {}, ...rows), h("tbody", {}, ...metrics)),
      warnings.length ? h("details", {}, h("summary", {}, `${warnings.length} ${warnings.length === 1 ? "warning" : "warnings"}`), h("ul", {}, ...warnings)) : null);
  }

  // The fix that was tried last, until it is undone.
  let tried = null;

  async function explain(policy, job, reveal = true) {
    const asked = view, mine = { policy: view.policies[policy].name, job, reveal };
    // Known before the answer comes: a result that arrives earlier asks again, so that no click is lost.
    explained = mine;
    const answer = await attempt("explain", { policy, job });
    if (answer === undefined || view !== asked || explained !== mine) return;
    const body = h("div", {});
    drawn(body, answer.html);
    const undo = tried === null ? null : h("div", { class: "wb-bar" }, h("span", { class: "wb-quiet" }, `done: ${tried}`),
      h("button", { onclick: undoFix }, "Undo"));
    const fixes = answer.fix === undefined ? null : fixPanel(answer.fix, (number) => applyFix(policy, job, number));
    detail.replaceChildren(h("div", { class: "wb-bar" }, h("strong", {}, `${explained.policy}: ${job}`),
      h("button", { onclick: closeDetail }, "Close")), ...[undo, fixes].filter((one) => one !== null),
    fixes === null ? body : h("details", {}, h("summary", {}, "what the policy considered"), body));
    detail.classList.remove("wb-outdated");
    detail.hidden = false;
    if (reveal) detail.scrollIntoView({ block: "nearest" });
    mine.reveal = false;
  }

  async function applyFix(policy, job, number) {
    const done = await attempt("apply", { policy, job, fix: number });
    if (done !== undefined) tried = done.label;
  }

  async function undoFix() {
    if ((await attempt("undo_apply", { label: tried })) !== undefined) tried = null;
  }

  // ---- the same job, or the same node, in every picture ----

  function link(job) {
    marked = job;
    const cells = [...pictures.querySelectorAll("[data-cell]")];
    const holds = (cell) => (cell.dataset.jobs ?? "").split(" ").includes(String(job));
    // A job that waits everywhere has no place to stand out.
    const fades = job !== null && cells.some(holds);
    for (const cell of cells) cell.classList.toggle("wb-faded", fades && !holds(cell));
    for (const row of table.querySelectorAll("tr[data-job]")) row.classList.toggle("wb-linked", Number(row.dataset.job) === job);
  }
  pictures.addEventListener("mouseover", (event) => {
    const cell = event.target.closest("[data-cell]");
    const name = cell?.dataset.cell;
    for (const other of pictures.querySelectorAll("[data-cell]")) other.classList.toggle("wb-same", other.dataset.cell === name);
  });
  pictures.addEventListener("click", (event) => {
    const here = event.target.closest("[data-cell]")?.dataset.jobs?.split(" ")[0];
    link(here ? (Number(here) === marked ? null : Number(here)) : null);
  });

  // ---- export ----

  async function save(kind) {
    const file = await attempt("export", { kind });
    if (file === undefined) return;
    const content = file.base64 === undefined ? file.text : Uint8Array.from(atob(file.base64), (byte) => byte.charCodeAt(0));
    download(file.name, content, file.type);
    say(file.note ?? "", "note");
  }

  async function copyCommand() {
    const command = await attempt("command");
    if (command === undefined) return;
    const first = command.to_save.length ? ` (save first what no file holds yet: ${command.to_save.map((name) => SAVED_BY[name] ?? name).join(", ")})` : "";
    // A line that could not be copied is there to be selected.
    say(`${await copyText(command.text) ? "copied: " : ""}${command.text}${first}`, "note");
  }

  attempt("state").then((state) => {
    if (state !== undefined) {
      offer(state.choices);
      chosen = state.chosen;
      jobText = state.text;
      showPolicies();
      showConfigured(state);
    }
    panel.ready();
  });
  return () => {
    pane?.destroy();
    panel.close();
  };
}

export default { initialize, render };
