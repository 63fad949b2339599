// Requests of a slider or a pointer, one at a time: of those made while one is answered, only the last is sent.

/** Wrap `send(value)`, which resolves when it is answered, so that it may be called at any rate. */
export function latest(send) {
  let busy = false;
  let waiting = null;
  return async function offer(value) {
    if (busy) {
      waiting = { value };
      return;
    }
    busy = true;
    let next = { value };
    try {
      while (next !== null) {
        waiting = null;
        await send(next.value);
        next = waiting;
      }
    } finally {
      busy = false;
    }
  };
}

/** Row and column of an n x n matrix drawn in a square box, at a point; null outside the box. */
export function entryAt(box, x, y, n) {
  const column = Math.floor(((x - box.left) / box.width) * n);
  const row = Math.floor(((y - box.top) / box.height) * n);
  const inside = column >= 0 && row >= 0 && column < n && row < n;
  return inside ? { row, column } : null;
}

/** Index that an arrow key, Home or End leads to from `at`, with `count` items, `across` in a row; -1 for other keys. */
export function moved(key, at, count, across) {
  const steps = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across };
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  if (!(key in steps)) return -1;
  const next = at + steps[key];
  return next >= 0 && next < count ? next : at;
}
