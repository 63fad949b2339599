// A button beside each block of code that copies it: of a console block the commands alone, without "$ " and output.
function wanted(block) {
  const text = block.innerText.replace(/\n$/, "");
  const lines = text.split("\n");
  if (!lines.some((line) => line.startsWith("$ "))) return text;
  const found = [];
  let goesOn = false;
  for (const line of lines) {
    if (line.startsWith("$ ") || goesOn) {
      found.push(goesOn ? line : line.slice(2));
      goesOn = line.endsWith("\\");
    }
  }
  return found.join("\n");
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight")) {
    const pre = block.querySelector("pre");
    if (!pre || !navigator.clipboard) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this block");
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(wanted(pre));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }
});
