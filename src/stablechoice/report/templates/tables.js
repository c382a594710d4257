"use strict";
// Tables: a heading's button sorts its column upwards, downwards, and back to the order in which it was printed.
(() => {
  const collator = new Intl.Collator("en", { numeric: true });

  // Numbers stand before texts; what is missing stands last whichever way the column is sorted.
  function key(cell) {
    if (cell.classList.contains("m")) return { rank: 2, text: cell.textContent };
    if (cell.dataset.v !== undefined) return { rank: 0, number: Number(cell.dataset.v) };
    return { rank: 1, text: cell.textContent.trim() };
  }

  function compare(one, other, direction) {
    if (one.rank !== other.rank) return one.rank - other.rank;
    if (one.rank === 2) return 0;
    const difference = one.rank === 0 ? one.number - other.number : collator.compare(one.text, other.text);
    return direction * difference;
  }

  function sort(table, column, direction) {
    const body = table.tBodies[0];
    const rows = table.printed ?? (table.printed = [...body.rows]);
    const keyed = rows.map((row) => ({ row, key: key(row.cells[column]) }));
    if (direction !== 0) keyed.sort((one, other) => compare(one.key, other.key, direction));
    body.append(...keyed.map(({ row }) => row));
    table.classList.toggle("sorted", direction !== 0);
  }

  for (const table of document.querySelectorAll(".sheet table")) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.firstElementChild.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[heading.ariaSort];
        for (const other of headings) other.setAttribute("aria-sort", "none");
        heading.setAttribute("aria-sort", next);
        sort(table, column, { none: 0, ascending: 1, descending: -1 }[next]);
      });
    });
  }
})();
