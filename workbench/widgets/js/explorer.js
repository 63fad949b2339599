// The charts of the simulation explorer: one crosshair, and jobs that are named by a click or a key.
import { linkCharts } from "../../report/templates/crosshair.js";
import { drawn, h, initialize, openPanel } from "./panel.js";

function render(context) {
  const panel = openPanel(context, "explorer");
  const { root, attempt } = panel;
  const said = h("div", { class: "wb-said", role: "status", "aria-live": "polite" });
  const charts = h("div", { class: "wb-charts" });
  const cluster = h("div", { class: "wb-cluster" });
  const gantt = h("div", { class: "wb-gantt" });
  const heading = h("h4", {});
  const list = h("ol", {});
  const waiting = h("div", { class: "wb-waiting" }, heading, list);
  root.append(said, panel.message, panel.busy, charts, h("div", { class: "wb-charts wb-wide" }, h("div", {}, cluster, waiting), gantt));

  const name = (job) => attempt("name", { job });
  const again = linkCharts(root, (chart, seconds, event) => {
    // A bar names its job; elsewhere a chart shows its instant.
    if (event.target.closest?.("[data-job]") === null) attempt("point", { chart: chart.closest("[data-chart]")?.dataset.chart ?? "", seconds });
  });
  root.addEventListener("click", ({ target }) => {
    const row = target.closest("[data-job]");
    const cell = target.closest("[data-cell]");
    if (row !== null) name(row.dataset.job);
    else if (cell !== null) attempt("cell", { cell: cell.dataset.cell });
  });
  root.addEventListener("keydown", (event) => {
    const row = event.target.closest("[data-job], [data-cell]");
    if (event.key === "Escape") name("");
    else if (row !== null && row.localName === "g" && [" ", "Enter"].includes(event.key)) row.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (row !== null && ["ArrowDown", "ArrowUp"].includes(event.key)) {
      const rows = [...row.parentNode.querySelectorAll(":scope > [data-job], :scope > [data-cell], :scope > li [data-job]")];
      const to = rows[rows.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
      to?.focus();
    } else return;
    event.preventDefault();
  });

  /** Rows of the Gantt chart and squares of the cluster take the focus; the one that had it keeps it. */
  function reachable(element, of, kind) {
    const before = element.contains(document.activeElement) ? document.activeElement.getAttribute(kind) : null;
    drawn(element, of);
    const rows = [...element.querySelectorAll(`[${kind}]`)];
    rows.forEach((row, i) => {
      row.setAttribute("tabindex", i === 0 ? "0" : "-1");
      row.setAttribute("role", "button");
      row.setAttribute("aria-label", row.getAttribute(kind));
    });
    if (before !== null) rows.find((row) => row.getAttribute(kind) === before)?.focus();
  }

  function showCharts(now) {
    charts.replaceChildren(...now.map(({ chart, svg }) => {
      const box = h("div", { "data-chart": chart });
      drawn(box, svg);
      return box;
    }));
  }
  function showSaid({ story, title, jobs, more, named }) {
    said.textContent = story;
    heading.textContent = title;
    const focused = list.contains(document.activeElement) ? document.activeElement.dataset.job : null;
    list.replaceChildren(...jobs.map(({ job, text, named: isIt }) =>
      h("li", {}, h("button", { "data-job": job, "aria-pressed": String(isIt), title: "name this job in every chart" }, job), ` ${text}`)),
      ...(more ? [h("li", { class: "wb-quiet" }, more)] : []));
    // What is grey then is another job, and pale.
    root.classList.toggle("wb-named", named);
    if (focused !== null) [...list.querySelectorAll("[data-job]")].find(({ dataset }) => dataset.job === focused)?.focus();
    root.dataset.shown = String(Number(root.dataset.shown ?? 0) + 1);
  }
  /** Show what has changed. */
  function show(changed) {
    if (changed.charts) showCharts(changed.charts);
    if (changed.gantt) reachable(gantt, changed.gantt, "data-job");
    if (changed.cluster) reachable(cluster, changed.cluster, "data-cell");
    again();
    showSaid(changed.said);
  }
  panel.on("shown", show);
  attempt("state").then((state) => {
    if (state !== undefined) show(state);
    panel.ready();
  });
  return panel.close;
}

export default { initialize, render };
