"use strict";

// Finds events by name on the lanes and in the call stacks of `flame`, if there are any, and leads from a name in
// a table to the lanes, or where these do not have it to the call stacks, and back from the lanes.
function findNames(tools, lanes, flame) {
  const {add, count} = tools;
  const {drawing} = lanes;
  const {name, start, length} = drawing.rectangles;
  const box = document.createElement("div");
  box.className = "filter";
  lanes.canvas.parentElement.before(box);
  const field = add(box, "input");
  field.type = "search";
  field.placeholder = "Find a name on the lanes";
  field.setAttribute("aria-label", "Find events by name on the lanes");
  const [previous, next] = [["‹", "Previous hit"], ["›", "Next hit"]].map(([text, said]) => {
    const button = add(box, "button", "", text);
    button.type = "button";
    button.setAttribute("aria-label", said);
    return button;
  });
  const told = add(box, "span", "soft");
  told.setAttribute("aria-live", "polite");
  let hits = [], at = -1, places = new Set();

  function look(fits) {
    places = new Set(drawing.names.flatMap((one, place) => fits(one) ? [place] : []));
    hits = [];
    name.forEach((place, index) => { if (places.has(place)) hits.push(index); });
    hits.sort((one, other) => start[one] - start[other]);
    at = -1;
    lanes.mark(places, -1);
    const inside = flame ? flame.mark(fits) : "";
    const onLanes = hits.length ? count(hits.length, "hit") : places.size ? "only merged with others, or below a pixel" : "";
    told.textContent = [onLanes, inside].filter(Boolean).join(" · ") || "no hit";
  }

  function go(step) {
    if (!hits.length) return;
    at = (at + step + hits.length) % hits.length;
    const index = hits[at];
    const room = Math.max(5 * length[index], drawing.length_ns / 200);
    lanes.mark(places, index);
    lanes.show(start[index] - room, start[index] + length[index] + room);
    told.textContent = `${at + 1} of ${count(hits.length, "hit")} · ${drawing.rectangles.count[index] > 1 ? "several, merged" : lanes.told(index)}`;
  }

  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    if (wanted) {
      look((one) => one.toLowerCase().includes(wanted));
    } else {
      lanes.mark(new Set(), -1);
      if (flame) flame.clear();
      told.textContent = "";
    }
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") go(event.shiftKey ? -1 : 1);
  });
  previous.addEventListener("click", () => go(-1));
  next.addEventListener("click", () => go(1));

  function follow(wanted) {
    field.value = wanted;
    look((one) => one === wanted);
    go(1);
    lanes.canvas.scrollIntoView({block: "center"});
  }

  function lead(cell, to) {
    cell.classList.add("leads");
    cell.tabIndex = 0;
    cell.setAttribute("role", "link");
    cell.addEventListener("click", () => to(cell.dataset.name));
    cell.addEventListener("keydown", (event) => { if (event.key === "Enter") to(cell.dataset.name); });
  }

  const named = [...document.querySelectorAll("[data-name]")], onLanes = new Set(drawing.names);
  const cells = named.filter((cell) => onLanes.has(cell.dataset.name));
  for (const cell of named) {
    const inCode = flame && cell.closest("#my_code") && flame.knows(cell.dataset.name);
    if (inCode) lead(cell, flame.show);
    else if (onLanes.has(cell.dataset.name)) lead(cell, follow);
  }
  lanes.picked = (picked) => {
    const cell = cells.find((one) => one.dataset.name === picked);
    told.textContent = cell ? "" : `${picked} is in no table`;
    if (!cell) return;
    for (const other of cells) other.classList.remove("found");
    cell.classList.add("found");
    cell.scrollIntoView({block: "center"});
    cell.focus({preventScroll: true});
  };
}
