// Page code shared by the three widgets: the root element, requests with ids, small DOM helpers.

/** Make an element: `h("button", {class: "x", onclick: f}, "text", child)`. Text is never read as HTML. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null));
  return element;
}

/**
 * Keep a widget alive whose module came late; each module exports this as its `initialize`.
 *
 * anywidget waits two seconds for a module. On a busy machine that is not enough, and then it shows the widget but drops
 * every message of the kernel, so the page would wait for answers for ever. Such a model hears the kernel by what it
 * inherits from ipywidgets.
 */
export function initialize({ model }) {
  // Setting nothing returns the model itself, of which anywidget hands out only a few methods.
  const own = model.set({});
  own._handle_comm_msg({ content: { data: {} } }).catch(() => {
    const inherited = Object.getPrototypeOf(Object.getPrototypeOf(own))._handle_comm_msg;
    own.comm?.on_msg((message) => inherited.call(own, message));
  });
}

// How long an error stays at least, although something succeeded since.
const READ_MS = 3000;

/**
 * Set up one view of a widget.
 *
 * `root` keeps keys and the wheel from JupyterLab, whose shortcuts would otherwise insert or delete notebook cells
 * while somebody types in the widget. `ask(type, body)` resolves with the answer's body or rejects with an Error whose
 * `traceback` may say more; `on(event, f)` calls f for messages without a request. A request that waits for longer than
 * half a second says so, because callbacks wait while a cell runs. Several views of one model each see only their own
 * answers: a view's ids start at a random place.
 */
export function openPanel({ model, el }, name) {
  const root = h("div", { class: `wb-panel wb-${name}`, "data-lm-suppress-shortcuts": "true", tabindex: "-1" });
  const busy = h("div", { class: "wb-busy", role: "status", hidden: true }, "waiting for the kernel …");
  const message = h("div", { class: "wb-message", role: "alert", hidden: true });
  el.append(root);
  const stop = (event) => event.stopPropagation();
  for (const kind of ["keydown", "keyup", "keypress", "wheel", "contextmenu"]) root.addEventListener(kind, stop);

  const waiting = new Map();
  const listeners = new Map();
  let next = Math.floor(Math.random() * 2 ** 30) * 1024 + 1;
  let slow = null;

  function settle() {
    if (waiting.size > 0) return;
    clearTimeout(slow);
    slow = null;
    busy.hidden = true;
    root.dataset.pending = "0";
  }

  function hear(content) {
    if (content.type === "several") {
      content.body.forEach(hear);
      return;
    }
    if (content.id === 0) {
      for (const f of listeners.get(content.type) ?? []) f(content.body, content);
      return;
    }
    const request = waiting.get(content.id);
    if (request === undefined) return;
    waiting.delete(content.id);
    if (content.type === "failure") {
      const error = new Error(content.message);
      error.traceback = content.traceback;
      request.reject(error);
    } else request.resolve(content.body);
    settle();
  }
  model.on("msg:custom", hear);

  function ask(type, body = {}) {
    const id = next++;
    root.dataset.pending = "1";
    slow ??= setTimeout(() => (busy.hidden = false), 500);
    return new Promise((resolve, reject) => {
      waiting.set(id, { resolve, reject });
      try {
        model.send({ id, type, body });
      } catch {
        waiting.delete(id);
        reject(new Error("the kernel that made this is gone: run the cell again"));
        settle();
      }
    });
  }

  function on(event, f) {
    if (!listeners.has(event)) listeners.set(event, []);
    listeners.get(event).push(f);
  }

  let shownAt = 0;
  // Number of the message that is shown.
  let said = 0;

  /** Hide an error that somebody could read: what it was about has succeeded since. */
  function forgive() {
    if (message.dataset.kind === "error" && performance.now() - shownAt > READ_MS) say("");
  }

  /** Show one line to the user; an Error may carry a traceback, folded below it. Empty hides the line. */
  function say(what, kind = "error") {
    message.replaceChildren();
    message.hidden = !what;
    if (!what) return;
    said += 1;
    message.dataset.kind = kind;
    shownAt = performance.now();
    message.append(h("span", {}, what.message ?? String(what)));
    if (what.traceback) message.append(h("details", {}, h("summary", {}, "traceback"), h("pre", {}, what.traceback)));
  }

  /**
   * Call `ask` and show an error if it fails; resolves with undefined then. A success hides the message that stood there
   * when it was asked for, not one that has come since.
   */
  async function attempt(type, body) {
    const before = said;
    try {
      const result = await ask(type, body);
      if (said === before) say("");
      return result;
    } catch (error) {
      say(error);
      return undefined;
    }
  }

  /** Tests and screenshots wait for this; a canvas may exist long before its first drawing. */
  const ready = () => (root.dataset.ready = "true");

  const close = () => {
    model.off("msg:custom", hear);
    clearTimeout(slow);
    root.remove();
  };
  return { root, busy, message, ask, attempt, on, say, forgive, ready, close };
}

/** Why what is dragged cannot be dropped here; empty if it can: every format that is read is text. */
function refusal({ types, items }) {
  if (!types.includes("Files")) return "only a file can be dropped here";
  const other = [...items].find(({ type }) => /^(image|audio|video|font)\/|^application\/(pdf|zip|gzip|x-tar)$/.test(type));
  return other ? `no text: ${other.type}` : "";
}

/** Files that were chosen, dropped on `target`, or pasted into it as text, given to `take(text, name, file)` one by one. */
export function acceptFiles(target, take) {
  const input = h("input", { type: "file", hidden: true, onchange: () => readAll([...input.files]) });
  target.append(input);
  async function readAll(files) {
    for (const file of files) await take(await file.text(), file.name, file);
    input.value = "";
  }
  const leave = () => {
    target.classList.remove("wb-drop", "wb-refuse");
    delete target.dataset.drop;
  };
  target.addEventListener("dragover", (event) => {
    event.preventDefault();
    event.stopPropagation();
    const why = refusal(event.dataTransfer);
    event.dataTransfer.dropEffect = why ? "none" : "copy";
    target.classList.toggle("wb-drop", !why);
    target.classList.toggle("wb-refuse", Boolean(why));
    target.dataset.drop = why || "drop the file here";
  });
  target.addEventListener("dragleave", leave);
  target.addEventListener("drop", (event) => {
    event.preventDefault();
    event.stopPropagation();
    leave();
    if (!refusal(event.dataTransfer)) readAll([...event.dataTransfer.files]);
  });
  return { choose: () => input.click() };
}

// Characters of a file from which on sending and reading it takes seconds.
const LARGE = 1_000_000;

/**
 * A line that says how far the kernel has read a file, with a button that gives it up.
 *
 * `arrived(answer)` is called with the kernel's answer, which names the file, once the file is shown: at once, or when
 * the kernel has read it.
 */
export function loadingLine(panel, arrived) {
  let underWay = false;
  const text = h("span", {});
  const element = h("div", { class: "wb-bar wb-loading", role: "status", hidden: true }, text,
    h("button", { onclick: giveUp }, "Cancel"));

  function tell(what) {
    text.textContent = what;
    element.hidden = !what;
  }

  function end() {
    underWay = false;
    tell("");
  }

  async function giveUp() {
    end();
    if ((await panel.attempt("give_up")) !== undefined) panel.say("cancelled; nothing was changed", "note");
  }

  /** Take an answer to the request that began the reading, or to the one for its result. */
  async function take(answer) {
    if (answer?.waiting) return;
    end();
    if (answer?.name !== undefined) await arrived(answer);
  }

  const fetchResult = () => panel.attempt("arrived").then(take);
  // One that was on its way when the reading was given up is not shown.
  panel.on("loading", (state) => underWay && tell(state.text));
  panel.on("loaded", fetchResult);

  /** Send a file with a request of the given type. */
  async function send(type, body) {
    const size = body.text.length;
    underWay = true;
    tell(size > LARGE ? `reading ${body.name}, ${Math.round(size / LARGE)} MB …` : "");
    await take(await panel.attempt(type, body));
  }

  /** Show what was under way before this view was opened. */
  function resume({ loading, loaded }) {
    underWay = Boolean(loading);
    tell(loading);
    if (loaded) fetchResult();
  }
  return { element, send, resume };
}

/** Put an SVG or HTML fragment that our own Python drew into an element. */
export function drawn(element, markup) {
  element.innerHTML = markup;
}

/** Offer a text, or bytes, as a file to save. */
export function download(name, content, type = "text/plain") {
  const url = URL.createObjectURL(new Blob([content], { type }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
