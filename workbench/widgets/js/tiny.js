// Texts of a picture that is shown so small that nobody could read them are left out; cards say the names, and the title of
// the picture stands above it.
import { READABLE } from "./labels.js";

// Texts that are left out together: where they are in the picture, and the class that hides them.
const TEXTS = [[".tw-labels text", "wb-no-labels"], [".tw-nodes text", "wb-no-names"], [".tw-legend text", "wb-no-legend"], [":scope > text", "wb-no-title"]];

/** Leave out what is too small in a picture, `picture`, whose drawing is the SVG in `drawing`. */
export function leaveOutTiny(picture, drawing) {
  const svg = drawing.firstElementChild;
  const wide = svg?.viewBox?.baseVal?.width;
  if (!wide || svg.clientWidth === 0) return;
  const scale = svg.clientWidth / wide;
  for (const [where, name] of TEXTS) {
    const text = svg.querySelector(where);
    picture.classList.toggle(name, text !== null && parseFloat(getComputedStyle(text).fontSize) * scale < READABLE);
  }
}
