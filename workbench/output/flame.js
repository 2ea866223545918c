"use strict";

// Draws call stacks on a canvas: width is time, what stands below was called or launched from above. A click or
// Enter zooms in, Escape out, the arrow keys go from frame to frame. Returns what a search of the page needs:
// `mark` the frames whose names fit, `show` that of a name, and `knows` whether there is one.
function drawFlame(tools, figure, flame) {
  const {add, duration, share, count} = tools;
  const {parent, depth, start, length, own, name, category, merged} = flame.boxes;
  const {fit} = drawScales(tools);
  const ROW = 18, MERGED = "";
  const total = Math.max(1, length[0]);
  const deepest = depth.reduce((most, one) => Math.max(most, one), 0);
  const children = parent.map(() => []);
  parent.forEach((around, place) => { if (around >= 0) children[around].push(place); });
  const {box, canvas, tip, said, field, found} = prepare();
  let root = 0, current = -1, hits = null, width = 0, queued = false;

  function prepare() {
    const toolbar = add(figure, "div", "toolbar");
    const whole = add(toolbar, "button", "", "Whole path");
    whole.type = "button";
    whole.addEventListener("click", () => zoom(0));
    const field = add(toolbar, "input");
    field.type = "search";
    field.placeholder = "Find in the call stacks";
    field.setAttribute("aria-label", "Find frames of the call stacks by name");
    const found = add(toolbar, "span", "soft");
    found.setAttribute("aria-live", "polite");
    for (const one of flame.categories.filter(Boolean)) {
      const item = add(toolbar, "span");
      add(item, "span", "swatch").style.background = colourOf(one);
      item.append(one);
    }
    const box = add(figure, "div", "lanes");
    const canvas = add(box, "canvas", "flame");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${flame.title}. Arrow keys go from frame to frame, Enter zooms in, Escape out.`);
    const tip = add(box, "div", "tip");
    tip.hidden = true;
    const said = add(box, "div", "unseen");
    said.setAttribute("aria-live", "polite");
    return {box, canvas, tip, said, field, found};
  }

  function colourOf(one) {
    return Object.hasOwn(flame.colours, one) ? flame.colours[one] : flame.colours[MERGED];
  }

  function text(place) {
    return merged[place] > 1 ? count(merged[place], "frame") : flame.texts[name[place]];
  }

  // ---- drawing ----

  const x = (ns) => (ns - start[root]) / Math.max(1, length[root]) * width;

  // Where a frame is drawn, if it is: those around the one that is zoomed to are as wide as it.
  function span(place) {
    if (depth[place] <= depth[root]) return isOver(place) ? [0, width] : null;
    const left = x(start[place]), right = x(start[place] + length[place]);
    return right > 0 && left < width && isUnder(place) ? [left, right] : null;
  }

  function isOver(place) {
    for (let one = root; one >= 0; one = parent[one]) if (one === place) return true;
    return false;
  }

  const isUnder = (place) => start[place] >= start[root] && start[place] + length[place] <= start[root] + length[root];

  function draw() {
    queued = false;
    const ratio = window.devicePixelRatio || 1, height = (deepest + 1) * ROW + 1;
    width = box.clientWidth;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    const shades = getComputedStyle(document.documentElement);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    for (let place = 0; place < parent.length; place += 1) {
      const at = span(place);
      if (at) drawBox(pen, place, at, shades);
    }
  }

  function drawBox(pen, place, [left, right], shades) {
    const top = depth[place] * ROW + 1, wide = Math.max(0.5, right - left - (right - left > 3 ? 1 : 0));
    const plain = place === 0 || merged[place] > 1, dimmed = hits && !hits.has(place);
    const colour = plain ? shades.getPropertyValue("--line") : colourOf(flame.categories[category[place]]);
    pen.globalAlpha = dimmed ? 0.25 : depth[place] < depth[root] ? 0.6 : 1;
    pen.fillStyle = colour;
    pen.fillRect(left, top, wide, ROW - 1);
    pen.globalAlpha = 1;
    pen.fillStyle = plain || dimmed || depth[place] < depth[root] ? shades.getPropertyValue("--ink") : inkOn(colour);
    if (wide > 24) pen.fillText(fit(pen, caption(pen, place, wide - 8), wide - 8), left + 4, top + ROW / 2);
    if (place === current) {
      pen.strokeStyle = shades.getPropertyValue("--ink");
      pen.lineWidth = 2;
      pen.strokeRect(left + 1, top + 1, Math.max(1, wide - 2), ROW - 3);
    }
  }

  // As much as there is room for: of a Python function first its own name.
  function caption(pen, place, room) {
    const shown = text(place), full = `${shown} · ${share(length[place] / total)}`;
    return pen.measureText(full).width <= room ? full : pen.measureText(shown).width <= room ? shown : shown.replace(/^.*\(\d+\): /, "");
  }

  // White or black, whichever is easier to read on a colour.
  function inkOn(colour) {
    const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    return 0.3 * red + 0.59 * green + 0.11 * blue > 150 ? "#10151a" : "#ffffff";
  }

  function redraw() {
    if (queued) return;
    queued = true;
    requestAnimationFrame(draw);
  }

  // ---- what is said of a frame ----

  function lines(place) {
    const kind = merged[place] > 1 ? "each narrower than a pixel" : flame.categories[category[place]] || "";
    const part = `${duration(length[place])} · ${share(length[place] / total)} of ${flame.of}`;
    return [text(place), kind, part, merged[place] > 1 || place === 0 ? "" : `${duration(own[place])} of it in itself`].filter(Boolean);
  }

  function under(event) {
    const bounds = canvas.getBoundingClientRect();
    const left = event.clientX - bounds.left, top = event.clientY - bounds.top;
    const level = Math.floor((top - 1) / ROW);
    let best = -1;
    for (let place = 0; place < parent.length; place += 1) {
      if (depth[place] !== level) continue;
      const at = span(place);
      if (at && at[0] <= left && left <= Math.max(at[1], at[0] + 1)) best = place;
    }
    return {place: best, left, top};
  }

  function hover(event) {
    const {place, left, top} = under(event);
    tip.hidden = place < 0;
    canvas.style.cursor = place < 0 ? "default" : "pointer";
    if (place < 0) return;
    tip.replaceChildren();
    lines(place).forEach((line, at) => add(tip, at ? "div" : "b", at ? "soft" : "", line));
    tip.style.left = `${Math.max(0, Math.min(left + 14, width - tip.offsetWidth - 4))}px`;
    const below = event.clientY + 16 + tip.offsetHeight < window.innerHeight;
    tip.style.top = `${below ? top + 16 : top - tip.offsetHeight - 10}px`;
  }

  // ---- zoom, keys, search ----

  function zoom(place) {
    root = place;
    tip.hidden = true;
    redraw();
  }

  function go(place) {
    if (place === undefined || place < 0) return;
    current = place;
    if (!span(place)) root = place;
    said.textContent = lines(place).join(", ");
    redraw();
  }

  // The nearest frame around one that is visibly wider.
  function wider(place) {
    let one = Math.max(0, parent[place]);
    while (one > 0 && length[one] < 1.02 * length[place]) one = parent[one];
    return one;
  }

  function beside(step) {
    const all = current > 0 ? children[parent[current]] : [0];
    return all[all.indexOf(current) + step];
  }

  function mark(fits) {
    const names = new Set(flame.names.flatMap((one, place) => fits(one) || fits(flame.texts[place]) ? [place] : []));
    const places = name.flatMap((one, place) => place > 0 && names.has(one) ? [place] : []);
    hits = new Set(places);
    const outermost = places.filter((place) => {
      for (let one = parent[place]; one >= 0; one = parent[one]) if (hits.has(one)) return false;
      return true;
    });
    redraw();
    const inside = outermost.reduce((sum, place) => sum + length[place], 0);
    return places.length ? `${share(inside / total)} of ${flame.of} inside` : "";
  }

  function clear() {
    hits = null;
    redraw();
  }

  function show(wanted) {
    const best = name.findIndex((one, place) => place > 0 && flame.names[one] === wanted);
    field.value = wanted;
    found.textContent = mark((one) => one === wanted);
    zoom(best < 0 ? 0 : best);
    go(best);
    canvas.scrollIntoView({block: "center"});
  }

  field.addEventListener("input", () => {
    const wanted = field.value.trim().toLowerCase();
    if (wanted) found.textContent = mark((one) => one.toLowerCase().includes(wanted)) || "no hit";
    else { clear(); found.textContent = ""; }
  });
  canvas.addEventListener("pointermove", hover);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("click", (event) => {
    const {place} = under(event);
    if (place < 0 || merged[place] > 1) return;
    zoom(place);
    go(place);
  });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      ArrowDown: () => go(current < 0 ? root : children[current][0]), ArrowUp: () => go(current < 0 ? root : parent[current]),
      ArrowLeft: () => go(current < 0 ? root : beside(-1)), ArrowRight: () => go(current < 0 ? root : beside(1)),
      Enter: () => { if (current >= 0 && merged[current] === 1) zoom(current); },
      Escape: () => { zoom(wider(root)); go(root); },
      Home: () => { zoom(0); go(0); },
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  draw();
  return {canvas, mark, clear, show, knows: (one) => flame.names.includes(one)};
}
