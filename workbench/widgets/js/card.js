// The card beside a place of a drawing: what is free, what runs there. Shown for the pointer and for the keyboard focus.
import { h } from "./panel.js";

// How long the pointer rests on a place before its card is asked for, in milliseconds.
const REST_MS = 120;
const GAP = 6;

/** Make the card of a panel; `root` is the panel's element. */
export function placeCard(root) {
  const element = h("div", { class: "wb-card", role: "status", "aria-live": "polite", hidden: true });
  root.append(element);
  let waiting = 0;
  // The request whose answer may be shown: a later one, or hiding, makes it void.
  let asked = 0;

  function hide() {
    clearTimeout(waiting);
    asked += 1;
    element.hidden = true;
  }

  /** Show a card beside a box of the window, where the panel has room. */
  function show({ title, lines }, box) {
    element.replaceChildren(h("strong", {}, title),
      h("dl", {}, ...lines.flatMap(([heading, text]) => [h("dt", {}, heading), h("dd", {}, text)])));
    element.hidden = false;
    // Measured where it has room: at the right edge its lines would break.
    Object.assign(element.style, { left: "0", top: "0" });
    const own = root.getBoundingClientRect();
    const { width, height } = element.getBoundingClientRect();
    const left = Math.min(box.left - own.left, own.width - width - GAP);
    const below = box.bottom - own.top + GAP;
    const fits = box.bottom + GAP + height <= Math.min(own.bottom, window.innerHeight);
    element.style.left = `${Math.max(left, GAP)}px`;
    element.style.top = `${fits ? below : Math.max(box.top - own.top - height - GAP, GAP)}px`;
  }

  /**
   * Ask for a card, now or after the pointer has rested, and show it beside the box that `boxOf()` gives then.
   *
   * `ask()` resolves with the card, or with undefined if there is none.
   */
  function offer(ask, boxOf, rest = true) {
    clearTimeout(waiting);
    const mine = ++asked;
    return new Promise((done) => {
      waiting = setTimeout(async () => {
        const card = await ask();
        if (card !== undefined && mine === asked) show(card, boxOf(card));
        done(card);
      }, rest ? REST_MS : 0);
    });
  }

  return { offer, hide };
}
