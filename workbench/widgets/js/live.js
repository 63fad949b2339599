// The strip of a workbench that follows a live cluster: its state, buttons to pause and end that, and the jobs. A recording
// has a slider over its moments.
import { h, initialize, openPanel } from "./panel.js";

const COLUMNS = ["job", "phase", "pods", "where", "waits"];
const TITLES = ["job", "phase", "pods", "HyperNode", "waits for"];

function render(context) {
  const panel = openPanel(context, "live");
  const { root, attempt } = panel;
  const state = h("output", { class: "wb-live-state", "aria-label": "cluster" });
  const pause = h("button", { onclick: () => ask("pause"), title: "leave the drawing as it is, to try changes on it" }, "Pause");
  const resume = h("button", { onclick: () => ask("resume"), title: "back to the cluster as it is now" }, "Resume");
  const stop = h("button", { onclick: () => ask("stop"), title: "end the watches; the drawing stays" }, "Stop");
  const slider = h("input", { type: "range", min: 0, "aria-label": "moment", oninput: () => seek(Number(slider.value)) });
  const moments = h("label", { class: "wb-live-moments", hidden: true }, slider);
  const body = h("tbody");
  const summary = h("summary", {});
  const jobs = h("details", { class: "wb-live-jobs", open: true }, summary,
    h("div", { class: "wb-live-table" },
      h("table", {}, h("thead", {}, h("tr", {}, ...TITLES.map((title) => h("th", { scope: "col" }, title)))), body)));
  root.append(h("div", { class: "wb-bar" }, h("span", { class: "wb-live-dot", "aria-hidden": "true" }), state, moments, pause, resume, stop),
    jobs, panel.message, panel.busy);

  // One request at a time, the newest: the kernel may be busy for longer than the cluster or the slider is quiet.
  let asking = false;
  let next = null;
  async function askNewest(type, body) {
    next = [type, body];
    if (asking) return;
    asking = true;
    while (next !== null) {
      const request = next;
      next = null;
      show(await attempt(...request));
    }
    asking = false;
  }

  const follow = () => askNewest("moment");
  const seek = (step) => askNewest("seek", { step });

  async function ask(type) {
    show(await attempt(type));
  }

  // Rows by job: only what differs is written, so a selection in the table and its scroll position stay.
  const rows = new Map();

  function show(now) {
    if (now === undefined) return;
    const recorded = now.clocks.length > 0;
    const does = now.trouble ? "does not answer" : { paused: "paused", stopped: "no longer followed" }[now.rest] ?? "followed";
    root.dataset.rest = now.trouble ? "trouble" : now.rest || (recorded ? "recorded" : "live");
    const position = `moment ${now.step + 1} of ${now.clocks.length}, ${now.clock} UTC`;
    state.textContent = recorded ? `${now.name}: ${now.rest === "paused" ? "paused at " : ""}${position}` : `cluster ${now.name}: ${does}, as of ${now.clock}`;
    moments.hidden = !recorded;
    slider.max = String(now.clocks.length - 1);
    if (next === null && recorded) slider.value = String(now.step);
    slider.setAttribute("aria-valuetext", position);
    panel.say(now.trouble, "warning");
    pause.hidden = recorded || now.rest !== "";
    resume.hidden = now.rest !== "paused";
    stop.hidden = recorded || now.rest === "stopped";
    const waiting = now.jobs.filter((job) => job.pending).length;
    summary.textContent = `${now.jobs.length} ${now.jobs.length === 1 ? "job" : "jobs"}, ${waiting} with waiting pods`;
    const ordered = [...now.jobs].sort((a, b) => b.pending - a.pending);
    const wanted = new Set(ordered.map((job) => job.job));
    for (const [name, row] of rows) {
      if (wanted.has(name)) continue;
      row.remove();
      rows.delete(name);
    }
    ordered.forEach((job, i) => {
      if (!rows.has(job.job)) rows.set(job.job, h("tr", {}, ...COLUMNS.map(() => h("td"))));
      const row = rows.get(job.job);
      COLUMNS.forEach((column, k) => {
        if (row.children[k].textContent !== job[column]) row.children[k].textContent = job[column];
      });
      row.classList.toggle("wb-waits", job.pending);
      if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null);
    });
    root.dataset.moments = String(Number(root.dataset.moments ?? 0) + 1);
  }

  panel.on("news", follow);
  panel.on("state", show);
  attempt("state").then((first) => {
    show(first);
    panel.ready();
    // What has changed between the kernel's first look and this page.
    follow();
  });
  return panel.close;
}

export default { initialize, render };
