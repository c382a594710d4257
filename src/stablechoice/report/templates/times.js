// What one run took. It differs from run to run, so that no table and no page holds it: it lies in a side file, which is
// looked for when a reader asks.
(() => {
  const box = document.getElementById("times");
  if (box === null) return;
  const element = explorerView.element;
  const note = box.querySelector("p");

  function row(name, texts) {
    return element("tr", {}, ...texts.map((text) => element(name, name === "th" ? { scope: "col" } : {}, text)));
  }

  function fill(times) {
    if (times === undefined) {
      note.textContent = `${box.dataset.file} is damaged: write the report again.`;
      return;
    }
    const table = element("table", { class: "of-cells" });
    table.append(
      element("thead", {}, row("th", times.columns)),
      element("tbody", {}, ...times.rows.map((texts) => row("td", texts))),
    );
    note.replaceWith(element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "What the last run took" }, table));
  }

  box.addEventListener("toggle", () => {
    if (!box.open || box.dataset.asked) return;
    box.dataset.asked = "yes";
    const script = document.createElement("script");
    script.src = box.dataset.file;
    script.addEventListener("load", () => fill(stablechoice.received("times")));
    script.addEventListener("error", () => {
      note.textContent = "Nothing was asked on this machine, or its side files were not sent along with this page.";
    });
    document.head.append(script);
  });
})();
