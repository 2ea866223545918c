"use strict";

// Finds events by name on the lanes and in the call stacks of `flame`, if there are any, and leads from a name in
// a table to the lanes, or where these do not have it to the call stacks, and back from the lanes.
function findNames(tools, lanes, flame) {
  const {add, count, duration, reveal} = tools;
  const {drawing} = lanes;
  const {name, start, length} = drawing.rectangles;
  const field = document.getElementById("find"), told = document.getElementById("hits");
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
    if (event.key !== "Enter") return;
    go(event.shiftKey ? -1 : 1);
    lanes.canvas.scrollIntoView({block: "nearest"});
  });

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

  // ---- the details of what was clicked, beside the lanes ----

  function link(list, text, act) {
    const button = add(add(list, "li"), "button", "link", text);
    button.type = "button";
    button.addEventListener("click", act);
  }

  function open(cell) {
    for (const other of cells) other.classList.remove("found");
    cell.classList.add("found");
    reveal(cell, "center");
    cell.focus({preventScroll: true});
  }

  const MOST_HOPS = 5;
  lanes.picked = ({title, lines, name: picked, hops}) => {
    const panel = lanes.panel;
    panel.replaceChildren();
    panel.hidden = false;
    const close = add(panel, "button", "close", "×");
    close.type = "button";
    close.setAttribute("aria-label", "Close the details");
    close.addEventListener("click", lanes.closePanel);
    add(panel, "h3", "", title).title = title;
    for (const line of lines) add(panel, "p", "", line);
    if (hops.length) {
      add(panel, "h4", "", "The way to it, backwards");
      const way = add(panel, "ol");
      for (const hop of hops.slice(0, MOST_HOPS)) {
        const why = hop.cause ? `, ${hop.cause.dependency} from ${drawing.lanes[hop.cause.lane].name}` : "";
        link(way, `${drawing.lanes[hop.lane].name}, ${duration(hop.until - hop.from)}${why}`, () => lanes.show(hop.from, hop.until));
      }
      if (hops.length > MOST_HOPS) add(way, "li", "soft", `and ${count(hops.length - MOST_HOPS, "hop")} before`);
    }
    add(panel, "h4", "", "More about it");
    const places = add(panel, "ul"), seen = new Set();
    for (const cell of cells) {
      const section = cell.closest("section");
      if (cell.dataset.name !== picked || seen.has(section)) continue;
      seen.add(section);
      link(places, section.querySelector("h2, summary").textContent, () => open(cell));
    }
    if (flame && flame.knows(picked)) link(places, "In the flame graph", () => flame.show(picked));
    if (!places.children.length) add(places, "li", "soft", "no table names it");
  };
}
