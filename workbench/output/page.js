"use strict";

// Tables that sort and filter, links to what is folded, and keys.
(() => {
  const {add, count, onceSeen, reveal} = TOOLS;

  function value(row, column) {
    const cell = row.cells[column];
    return cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value);
  }

  function sort(table, column, heading) {
    const falling = heading.getAttribute("aria-sort") !== "descending";
    const first = [...table.tBodies[0].rows];
    const sign = falling ? -1 : 1;
    first.sort((one, other) => {
      const [left, right] = [value(one, column), value(other, column)];
      return sign * (typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right)));
    });
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", falling ? "descending" : "ascending");
    table.tBodies[0].append(...first);
  }

  function filter(table, wanted, found) {
    const text = wanted.trim().toLowerCase();
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !row.textContent.toLowerCase().includes(text);
      if (!row.hidden) shown += 1;
    }
    found.textContent = text ? count(shown, "row") : "";
  }

  const MANY = 8;
  function equip(table) {
    [...table.tHead.rows[0].cells].forEach((heading, column) => {
      const button = add(heading, "button", "sort", heading.textContent);
      button.type = "button";
      heading.firstChild.remove();
      button.addEventListener("click", () => sort(table, column, heading));
    });
    if (table.tBodies[0].rows.length <= MANY) return;
    const box = document.createElement("div");
    box.className = "filter";
    table.parentElement.before(box);
    const field = add(box, "input");
    field.type = "search";
    field.placeholder = "Filter rows";
    field.setAttribute("aria-label", "Filter the rows of this table");
    const found = add(box, "span", "soft");
    field.addEventListener("input", () => filter(table, field.value, found));
  }

  for (const table of document.querySelectorAll("table:not(.gains)")) {
    // A tree has an order of its own.
    if (!table.querySelector(".in")) onceSeen(table, () => equip(table));
  }

  window.drawNumbers = (tools, figure, numbers) => {
    const table = add(add(figure, "div", "scroll"), "table"), head = table.createTHead().insertRow();
    for (const title of ["number", "value"]) add(head, "th", "", title);
    const body = table.createTBody();
    for (const [name, value] of numbers) {
      const row = body.insertRow();
      row.insertCell().textContent = name;
      row.insertCell().textContent = value;
    }
    equip(table);
  };

  // ---- contents and keys ----

  function follow() {
    const wanted = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (wanted) reveal(wanted);
  }

  window.addEventListener("hashchange", follow);
  for (const link of document.querySelectorAll("nav a")) link.addEventListener("click", () => setTimeout(follow));
  follow();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA/.test(event.target.tagName)) return;
    const keys = document.getElementById("keys"), find = document.getElementById("find");
    if (event.key === "?") keys.showModal();
    else if (event.key === "/") find.focus();
    else return;
    event.preventDefault();
  });
})();
