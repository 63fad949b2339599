// Colours that drawings share with the pictures of workbench.report, from one table.
import table from "../../report/palette.json" with { type: "json" };

/** Colour of the switches of a tier, as workbench.report.colours gives it. */
export const tierColour = (tier) => table.tiers[Math.max((tier ?? 1) - 1, 0) % table.tiers.length];

/** Colour of a place between 0 (slow) and 1 (fast). */
export function heat(place) {
  const at = Math.min(Math.max(place, 0), 1) * (table.speeds.length - 1);
  const low = Math.min(Math.floor(at), table.speeds.length - 2);
  const [a, b] = [low, low + 1].map((i) => [1, 3, 5].map((c) => parseInt(table.speeds[i].slice(c, c + 2), 16)));
  return `#${a.map((from, c) => Math.round(from + (b[c] - from) * (at - low)).toString(16).padStart(2, "0")).join("")}`;
}

/** Colours of the distinct bandwidths of some links on a logarithmic scale, slowest first: Map from bandwidth to colour. */
export function speedColours(bandwidths) {
  const known = [...new Set(bandwidths)].filter((value) => value > 0).sort((a, b) => a - b);
  const [low, high] = [known[0], known[known.length - 1]];
  return new Map(known.map((value) => [value, heat(low === high ? 1 : Math.log(value / low) / Math.log(high / low))]));
}
