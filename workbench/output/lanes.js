"use strict";

// Draws lanes on a canvas, the critical path below each, with zoom, pan and a tooltip; call stacks above a thread
// on demand, and the way to the stretch that is pointed at. Returns what a search needs: `mark` names by their
// places, `show` a stretch, `told` of one, and `picked`, which is called with a clicked name.
function drawLanes(tools, figure, drawing) {
  const {add, duration, count} = tools;
  const known = (colours, name) => Object.hasOwn(colours, name) ? colours[name] : colours[""];
  const categoryColour = (name) => known(drawing.colours.categories, name);
  const dependencyColour = (name) => known(drawing.colours.dependencies, name);
  const TOP = 24, WORK = 17, STRIP = 5, FRAME = 13, DEEPEST = 64;
  const ROW = drawing.lanes.length > 24 ? 26 : 30;  // many lanes stand closer together
  const {stacks} = drawing;
  const depths = drawing.lanes.map(() => 0);
  stacks.lane.forEach((lane, index) => { depths[lane] = Math.min(DEEPEST, Math.max(depths[lane], stacks.depth[index] + 1)); });
  const opened = new Set();
  const {canvas, tip, box, panel, buttons} = prepare();
  const {wayTo, reasonAt} = followCauses(tools, drawing);
  const {grid, stepMarks, fit, arrowHead} = drawScales(tools);
  const total = Math.max(1, drawing.length_ns);
  const least = Math.min(total, Math.max(20, total / 1e7));
  const rows = split(drawing.rectangles, drawing.lanes.length), frames = split(stacks, drawing.lanes.length);
  const trail = drawing.path;
  const handle = {drawing, mark, show, told, canvas, panel, closePanel, picked: () => {}};
  let view = [0, total], width = 0, LABEL = 190, queued = false;
  let marked = new Set(), current = -1, pointed = -1, tops = [], height = 0;

  function key(parent, colour, name) {
    const item = add(parent, "span");
    add(item, "span", "swatch").style.background = colour;
    item.append(name);
  }

  function prepare() {
    const toolbar = add(figure, "div", "toolbar");
    const buttons = ["Whole window", "+", "−"].map((text) => {
      const button = add(toolbar, "button", "", text);
      button.type = "button";
      return button;
    });
    buttons[1].setAttribute("aria-label", "Zoom in");
    buttons[2].setAttribute("aria-label", "Zoom out");
    if (depths.some(Boolean)) {
      const button = add(toolbar, "button", "", "Call stacks");
      button.type = "button";
      button.addEventListener("click", () => open(depths.flatMap((depth, lane) => depth ? [lane] : []), opened.size === 0));
      buttons.push(button);
    }
    for (const name of drawing.categories) if (name !== "gap") key(toolbar, categoryColour(name), name);
    key(toolbar, "var(--path)", "critical path");
    const beside = add(figure, "div", "beside"), box = add(beside, "div", "lanes");
    const canvas = add(box, "canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Work on each lane over time, with the critical path below it");
    const tip = add(box, "div", "tip");
    tip.hidden = true;
    const panel = add(beside, "aside", "panel");
    panel.setAttribute("aria-live", "polite");
    panel.hidden = true;
    return {canvas, tip, box, panel, buttons};
  }

  function split(columns, lanes) {
    const parts = Array.from({length: lanes}, () => []);
    columns.lane.forEach((lane, index) => parts[lane].push(index));
    return parts;
  }

  const x = (ns) => LABEL + (ns - view[0]) / (view[1] - view[0]) * (width - LABEL);
  const y = (lane) => tops[lane];

  function layOut() {
    let top = TOP;
    tops = drawing.lanes.map((_, lane) => {
      const here = top + (opened.has(lane) ? FRAME * depths[lane] : 0);
      top = here + ROW;
      return here;
    });
    height = top + 18;
  }

  function open(lanes, wanted) {
    for (const lane of lanes) if (wanted) opened.add(lane); else opened.delete(lane);
    if (buttons[3]) buttons[3].setAttribute("aria-pressed", String(opened.size > 0));
    layOut();
    redraw();
  }

  function draw() {
    queued = false;
    const ratio = window.devicePixelRatio || 1;
    width = box.clientWidth;
    LABEL = Math.min(190, 0.3 * width);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    const colours = getComputedStyle(document.documentElement);
    const ink = colours.getPropertyValue("--ink"), soft = colours.getPropertyValue("--soft");
    const line = colours.getPropertyValue("--line"), accent = colours.getPropertyValue("--path");
    pen.clearRect(0, 0, width, height);
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    const frame = {x, view, left: LABEL, top: TOP, width, height};
    grid(pen, frame, soft, line);
    stepMarks(pen, frame, drawing.steps, soft);
    pen.save();
    pen.beginPath();
    pen.rect(LABEL, 0, width - LABEL, height);
    pen.clip();
    drawing.lanes.forEach((_, lane) => work(pen, lane));
    for (const lane of opened) callStacks(pen, lane);
    route(pen, accent);
    way(pen, ink);
    pen.restore();
    drawing.lanes.forEach((lane, place) => {
      pen.fillStyle = ink;
      const sign = !depths[place] ? "" : opened.has(place) ? "▾ " : "▸ ";
      pen.fillText(fit(pen, sign + lane.name, LABEL - 16), 8, y(place) + WORK / 2 + 3);
    });
  }

  function outline(pen, index, left, wide, lane) {
    pen.strokeStyle = index === current ? "#000000" : "#ffd400";
    pen.lineWidth = index === current ? 3 : 2;
    pen.strokeRect(left, y(lane) + 2, Math.max(2, wide), WORK + 2);
  }

  function mark(places, index) {
    marked = places;
    current = index;
    redraw();
  }

  function work(pen, lane) {
    const {start, length, category, name} = drawing.rectangles;
    let lastPixel = -1, lastCategory = -1;
    for (const index of rows[lane]) {
      if (start[index] > view[1]) break;
      if (start[index] + length[index] < view[0]) continue;
      const left = x(start[index]), wide = Math.max(1, x(start[index] + length[index]) - left);
      const pixel = Math.floor(left);
      const isHit = marked.has(name[index]);
      if (wide <= 1 && pixel === lastPixel && category[index] === lastCategory && !isHit) continue;
      lastPixel = pixel;
      lastCategory = category[index];
      pen.fillStyle = categoryColour(drawing.categories[category[index]]);
      pen.fillRect(left, y(lane) + 3, wide > 3 ? wide - 0.5 : wide, WORK);
      if (isHit) outline(pen, index, left, wide, lane);
      if (wide > 60) caption(pen, name[index], left, wide, y(lane) + 3 + WORK / 2);
    }
  }

  function callStacks(pen, lane) {
    const {start, length, category, name, depth} = stacks;
    for (const index of frames[lane]) {
      if (start[index] > view[1]) break;
      if (start[index] + length[index] < view[0] || depth[index] >= DEEPEST) continue;
      const left = x(start[index]), wide = Math.max(1, x(start[index] + length[index]) - left);
      const top = y(lane) - FRAME * (depths[lane] - depth[index]) + 2;
      pen.fillStyle = categoryColour(drawing.categories[category[index]]);
      pen.fillRect(left, top, wide > 3 ? wide - 0.5 : wide, FRAME - 1);
      if (wide > 60) caption(pen, name[index], left, wide, top + (FRAME - 1) / 2);
    }
  }

  function caption(pen, name, left, wide, level) {
    if (name < 0) return;
    pen.fillStyle = "#ffffff";
    const from = Math.max(left, LABEL);
    pen.fillText(fit(pen, drawing.names[name], left + wide - from - 8), from + 4, level);
  }

  // The way to the stretch that is pointed at, else to the hit of a search: its time on each lane, its changes.
  function way(pen, ink) {
    const index = pointed >= 0 ? pointed : current;
    if (index < 0) return;
    const {lane, start} = drawing.rectangles;
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    for (const hop of wayTo(lane[index], start[index])) {
      const level = y(hop.lane) + 3;
      pen.beginPath();
      pen.moveTo(x(hop.from), level);
      pen.lineTo(x(hop.until), level);
      if (hop.cause) {
        pen.moveTo(x(hop.cause.at), y(hop.cause.lane) + 3);
        pen.lineTo(x(hop.from), level);
      }
      pen.stroke();
      if (hop.cause) arrowHead(pen, dependencyColour(hop.cause.dependency), x(hop.from), level, y(hop.cause.lane) < y(hop.lane));
    }
  }

  function route(pen, accent) {
    let before = -1;
    for (let index = 0; index < trail.start.length; index += 1) {
      const begin = trail.start[index], end = begin + trail.length[index];
      const visible = end >= view[0] && begin <= view[1];
      const level = y(trail.lane[index]) + 3 + WORK + 1;
      if (visible && before >= 0 && trail.lane[before] !== trail.lane[index]) {
        pen.strokeStyle = dependencyColour(drawing.dependencies[trail.dependency[index]]);
        pen.lineWidth = 1.5;
        pen.beginPath();
        pen.moveTo(x(begin), y(trail.lane[before]) + 3 + WORK + 1 + STRIP / 2);
        pen.lineTo(x(begin), level + STRIP / 2);
        pen.stroke();
      }
      if (visible) {
        pen.globalAlpha = drawing.categories[trail.category[index]] === "gap" ? 0.45 : 1;
        pen.fillStyle = accent;
        pen.fillRect(x(begin), level, Math.max(1, x(end) - x(begin)), STRIP);
        pen.globalAlpha = 1;
      }
      before = index;
    }
  }

  function redraw() {
    if (!queued) {
      queued = true;
      requestAnimationFrame(draw);
    }
  }

  function show(begin, end) {
    const span = Math.min(total, Math.max(least, end - begin));
    const from = Math.min(Math.max(0, begin), total - span);
    view = [from, from + span];
    tip.hidden = true;
    redraw();
  }

  function zoom(factor, share) {
    const span = view[1] - view[0], pivot = view[0] + span * share;
    show(pivot - span * factor * share, pivot + span * factor * (1 - share));
  }

  function place(event) {
    const bounds = canvas.getBoundingClientRect();
    return {left: event.clientX - bounds.left, top: event.clientY - bounds.top};
  }

  function find(lane, at, slop) {
    const {start, length} = drawing.rectangles;
    let best = -1;
    for (const index of rows[lane]) {
      if (start[index] > at + slop) break;
      if (start[index] + length[index] >= at - slop && (best < 0 || length[index] <= length[best])) best = index;
    }
    return best;
  }

  function findOnPath(lane, at, slop) {
    let low = 0, high = trail.start.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (trail.start[middle] <= at + slop) low = middle; else high = middle - 1;
    }
    for (let index = low; index >= 0 && index > low - 8; index -= 1) {
      if (trail.lane[index] === lane && trail.start[index] <= at + slop && trail.start[index] + trail.length[index] >= at - slop) return index;
    }
    return -1;
  }

  function under(event) {
    const {left, top} = place(event);
    const lane = top < TOP ? -1 : tops.findIndex((one) => top < one + ROW);
    if (lane < 0) return null;
    if (left < LABEL) return {lane, columns: null};
    const perPixel = (view[1] - view[0]) / (width - LABEL);
    const at = view[0] + (left - LABEL) * perPixel;
    const low = top - y(lane) > 3 + WORK, columns = top < y(lane) ? stacks : low ? trail : drawing.rectangles;
    const index = columns === stacks ? findFrame(lane, depths[lane] - Math.ceil((y(lane) - top) / FRAME), at)
      : low ? findOnPath(lane, at, perPixel) : find(lane, at, perPixel);
    return index < 0 ? null : {lane, columns, index, left, top};
  }

  function findFrame(lane, depth, at) {
    const {start, length} = stacks;
    const found = frames[lane].find((index) => stacks.depth[index] === depth && start[index] <= at && at <= start[index] + length[index]);
    return found === undefined ? -1 : found;
  }

  // What is said of work: how late it may be, and of a stretch that stands alone why it starts.
  function told(index) {
    const {lane, start, slack, count: merged} = drawing.rectangles;
    const several = merged[index] > 1;
    const late = slack[index] === null ? "" : `${several ? "least slack" : "slack"} ${duration(slack[index])}`;
    return [late, several ? "" : reasonAt(lane[index], start[index])].filter(Boolean).join(" · ");
  }

  // What is said of a stretch: its name, its kind and length, and why it starts when it does.
  function described(columns, index) {
    const low = columns === trail, several = columns !== stacks && columns.count[index] > 1;
    const name = columns.name[index] >= 0 ? drawing.names[columns.name[index]] : "";
    const lines = [several ? count(columns.count[index], low ? "stretch" : "segment", low ? "stretches" : "segments") : name || "(name left out)"];
    if (several && name) lines.push(low ? `longest: ${name}` : name);
    lines.push(`${drawing.categories[columns.category[index]]} · ${duration(columns.length[index])} · at ${duration(columns.start[index])}`);
    if (columns === drawing.rectangles) lines.push(told(index));
    if (low) {
      const reason = drawing.reasons[trail.reason[index]];
      lines.push(`on the critical path, because of ${drawing.dependencies[trail.dependency[index]]}${reason ? `: ${reason}` : ""}`);
    }
    return lines.filter(Boolean);
  }

  function hover(event) {
    tip.hidden = true;
    const found = under(event);
    const onWork = found !== null && found.columns === drawing.rectangles ? found.index : -1;
    if (onWork !== pointed) {
      pointed = onWork;
      redraw();
    }
    canvas.style.cursor = found !== null && found.columns === null && depths[found.lane] ? "pointer" : "";
    if (found === null || found.columns === null) return;
    const {columns, index, left, top} = found;
    tip.replaceChildren();
    described(columns, index).forEach((line, place) => add(tip, place ? "div" : "b", place ? "soft" : "", line));
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(left + 14, width - tip.offsetWidth - 4))}px`;
    const below = event.clientY + 16 + tip.offsetHeight < window.innerHeight;
    tip.style.top = `${below ? top + 16 : top - tip.offsetHeight - 10}px`;
  }

  // Says beside the lanes what was clicked: what, when, why then, and the way to it.
  function pick({lane, columns, index}) {
    const lines = described(columns, index), onWork = columns === drawing.rectangles;
    const at = onWork || columns === trail ? columns.start[index] : -1;
    lines.push(`on ${drawing.lanes[lane].name}`);
    const name = columns.name[index] >= 0 ? drawing.names[columns.name[index]] : "";
    current = onWork ? index : -1;
    handle.picked({title: lines.shift(), lines, name, hops: at < 0 ? [] : wayTo(lane, at)});
    redraw();
  }

  function closePanel() {
    panel.hidden = true;
    current = -1;
    redraw();
  }

  let dragged = null;
  canvas.addEventListener("wheel", (event) => {
    // The page scrolls over the lanes, too, unless they are what one works with.
    if (!event.ctrlKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const part = Math.min(1, Math.max(0, (place(event).left - LABEL) / (width - LABEL)));
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const move = event.deltaX / width * (view[1] - view[0]);
      show(view[0] + move, view[1] + move);
    } else {
      zoom(event.deltaY > 0 ? 1.25 : 0.8, part);
    }
  }, {passive: false});
  canvas.addEventListener("pointerdown", (event) => {
    dragged = {left: place(event).left, view, x: event.clientX};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointerup", (event) => {
    const found = dragged !== null && Math.abs(event.clientX - dragged.x) < 4 ? under(event) : null;
    dragged = null;
    if (found === null) return;
    if (found.columns === null) open(depths[found.lane] ? [found.lane] : [], !opened.has(found.lane));
    else pick(found);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged === null) {
      hover(event);
      return;
    }
    const move = (dragged.left - place(event).left) / (width - LABEL) * (dragged.view[1] - dragged.view[0]);
    show(dragged.view[0] + move, dragged.view[1] + move);
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
    pointed = -1;
    redraw();
  });
  canvas.addEventListener("keydown", (event) => {
    const span = view[1] - view[0];
    const keys = {
      "+": () => zoom(0.8, 0.5), "=": () => zoom(0.8, 0.5), "-": () => zoom(1.25, 0.5),
      ArrowLeft: () => show(view[0] - span / 8, view[1] - span / 8),
      ArrowRight: () => show(view[0] + span / 8, view[1] + span / 8),
      Home: () => show(0, total),
      Escape: closePanel,
    };
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  [() => show(0, total), () => zoom(0.5, 0.5), () => zoom(2, 0.5)].forEach((act, place) => buttons[place].addEventListener("click", act));
  new ResizeObserver(redraw).observe(box);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  layOut();
  draw();
  return handle;
}
