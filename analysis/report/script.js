// Adds sorting and filtering to tables that read well without either.
"use strict";
(() => {
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const FEW = 4; // rows that need no filter
  const NEXT = { none: "ascending", ascending: "descending", descending: "none" };
  const ARROWS = { none: "↕", ascending: "↑", descending: "↓" };

  const rowsOf = (table) => [...table.tBodies[0].rows];

  function create(tag, properties, ...children) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  }

  function compare(a, b, sign, numeric) {
    if (!numeric) return sign * collator.compare(a.textContent, b.textContent);
    // Where there is no number the row comes last, whichever way the column is sorted.
    const missing = Number(!a.dataset.value) - Number(!b.dataset.value);
    return missing || sign * (Number(a.dataset.value) - Number(b.dataset.value)) || 0;
  }

  // Repeated first cells are shown as soon as the rows above them need not be their own.
  function mark(table) {
    const sorted = table.querySelector("th[aria-sort]") !== null;
    table.classList.toggle("mixed", sorted || rowsOf(table).some((row) => row.hidden));
  }

  function sortable(table) {
    const original = rowsOf(table);
    const buttons = [...table.tHead.rows[0].cells].map((cell, column) => {
      const arrow = create("span", { className: "arrow", textContent: ARROWS.none, ariaHidden: "true" });
      const button = create("button", { type: "button", title: "Sort" }, ...cell.childNodes, arrow);
      cell.append(button);
      button.addEventListener("click", () => {
        const order = NEXT[cell.ariaSort ?? "none"];
        for (const other of buttons) {
          other.cell.removeAttribute("aria-sort");
          other.arrow.textContent = ARROWS.none;
        }
        if (order !== "none") cell.ariaSort = order;
        arrow.textContent = ARROWS[order];
        const sign = order === "descending" ? -1 : 1;
        const numeric = !cell.classList.contains("text");
        const by = (a, b) => compare(a.cells[column], b.cells[column], sign, numeric);
        table.tBodies[0].append(...(order === "none" ? original : original.toSorted(by)));
        mark(table);
      });
      return { cell, arrow };
    });
  }

  function filterable(block, tables) {
    const rows = tables.flatMap(rowsOf).map((row) => {
      return { row, words: [...row.cells].map((cell) => cell.textContent).join(" ").toLowerCase() };
    });
    const title = block.querySelector("h3").textContent;
    const field = create("input", { type: "search", placeholder: "Filter rows", ariaLabel: `Filter rows of ${title}` });
    const count = create("output", { role: "status", textContent: `${rows.length} rows` });
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase().split(/\s+/);
      for (const { row, words } of rows) row.hidden = !wanted.every((word) => words.includes(word));
      const left = rows.filter(({ row }) => !row.hidden).length;
      count.textContent = left === rows.length ? `${left} rows` : `${left} of ${rows.length} rows`;
      tables.forEach(mark);
    });
    return [field, count];
  }

  // Columns of detail are folded away, so that a verdict is in sight without scrolling.
  function foldable(tables) {
    const show = create("button", { type: "button", textContent: "All columns" });
    const fold = (folded) => {
      for (const table of tables) table.classList.toggle("narrow", folded);
      show.ariaPressed = String(!folded);
    };
    show.addEventListener("click", () => fold(show.ariaPressed === "true"));
    fold(true);
    return show;
  }

  for (const block of document.querySelectorAll("[data-table]")) {
    const tables = [...block.querySelectorAll("table")];
    tables.forEach(sortable);
    const tools = create("div", { className: "tools" });
    if (block.querySelectorAll("tbody tr").length > FEW) tools.append(...filterable(block, tables));
    if (block.querySelector("td.wide")) tools.append(foldable(tables));
    if (tools.hasChildNodes()) block.querySelector("h3").after(tools);
  }

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const part of folded) part.open = true;
  });
  addEventListener("afterprint", () => {
    for (const part of folded) part.open = false;
  });
})();
