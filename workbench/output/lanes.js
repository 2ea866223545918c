"use strict";

// Draws lanes on a canvas, the critical path below each, with zoom, pan and a tooltip. Returns what a search
// needs: `mark` names by their places, `show` a stretch, and `picked`, which is called with a clicked name.
function drawLanes(tools, figure, drawing) {
  const {add, duration, count} = tools;
  const known = (colours, name) => Object.hasOwn(colours, name) ? colours[name] : colours[""];
  const categoryColour = (name) => known(drawing.colours.categories, name);
  const dependencyColour = (name) => known(drawing.colours.dependencies, name);
  const {canvas, tip, box, buttons} = prepare();
  const TOP = 24, ROW = 30, WORK = 17, STRIP = 5, STEP_APART = 16;
  const height = TOP + ROW * drawing.lanes.length + 18;
  const total = Math.max(1, drawing.length_ns);
  const least = Math.min(total, Math.max(20, total / 1e7));
  const rows = split(drawing.rectangles, drawing.lanes.length);
  const trail = drawing.path;
  const handle = {drawing, mark, show, canvas, picked: () => {}};
  let view = [0, total], width = 0, LABEL = 190, queued = false;
  let marked = new Set(), current = -1;

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
    for (const name of drawing.categories) if (name !== "gap") key(toolbar, categoryColour(name), name);
    key(toolbar, "var(--path)", "critical path");
    const box = add(figure, "div", "lanes");
    const canvas = add(box, "canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "Work on each lane over time, with the critical path below it");
    const tip = add(box, "div", "tip");
    tip.hidden = true;
    return {canvas, tip, box, buttons};
  }

  function split(columns, lanes) {
    const parts = Array.from({length: lanes}, () => []);
    columns.lane.forEach((lane, index) => parts[lane].push(index));
    return parts;
  }

  const x = (ns) => LABEL + (ns - view[0]) / (view[1] - view[0]) * (width - LABEL);
  const y = (lane) => TOP + ROW * lane;

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
    grid(pen, soft, line);
    stepMarks(pen, soft);
    pen.save();
    pen.beginPath();
    pen.rect(LABEL, 0, width - LABEL, height);
    pen.clip();
    drawing.lanes.forEach((_, lane) => work(pen, lane));
    route(pen, accent);
    pen.restore();
    drawing.lanes.forEach((lane, place) => {
      pen.fillStyle = ink;
      pen.fillText(fit(pen, drawing.ranks > 1 ? `${lane.rank}: ${lane.name}` : lane.name, LABEL - 16), 8, y(place) + WORK / 2 + 3);
    });
  }

  function grid(pen, soft, line) {
    const span = view[1] - view[0];
    const rough = span / Math.max(2, (width - LABEL) / 130);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    pen.fillStyle = soft;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
      pen.beginPath();
      pen.moveTo(x(at), TOP - 6);
      pen.lineTo(x(at), height);
      pen.stroke();
      if (x(at) < width - 60) pen.fillText(tick(at), x(at) + 3, 10);
    }
  }

  function stepMarks(pen, soft) {
    pen.fillStyle = soft;
    pen.strokeStyle = soft;
    pen.setLineDash([2, 3]);
    let free = LABEL, last = -Infinity;
    for (const step of drawing.steps) {
      const at = x(step.start);
      if (at < LABEL || at > width || at - last < STEP_APART) continue;
      last = at;
      pen.beginPath();
      pen.moveTo(at, TOP - 8);
      pen.lineTo(at, height);
      pen.stroke();
      const text = `step ${step.number}`;
      if (at >= free) {
        pen.fillText(text, at + 3, height - 5);
        free = at + pen.measureText(text).width + 12;
      }
    }
    pen.setLineDash([]);
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

  function tick(ns) {
    return duration(ns).replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");
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
      if (wide > 60 && name[index] >= 0) {
        pen.fillStyle = "#ffffff";
        const from = Math.max(left, LABEL);
        pen.fillText(fit(pen, drawing.names[name[index]], left + wide - from - 8), from + 4, y(lane) + 3 + WORK / 2);
      }
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

  function fit(pen, text, room) {
    if (room < 12) return "";
    if (pen.measureText(text).width <= room) return text;
    let keep = Math.max(1, Math.floor(text.length * room / pen.measureText(text).width) - 1);
    let short = `${text.slice(0, keep)}…`;
    while (keep > 1 && pen.measureText(short).width > room) short = `${text.slice(0, keep -= 1)}…`;
    return short;
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
    const lane = Math.floor((top - TOP) / ROW);
    if (left < LABEL || lane < 0 || lane >= drawing.lanes.length) return null;
    const perPixel = (view[1] - view[0]) / (width - LABEL);
    const at = view[0] + (left - LABEL) * perPixel;
    const low = (top - TOP) % ROW > 3 + WORK;
    const columns = low ? trail : drawing.rectangles;
    const index = low ? findOnPath(lane, at, perPixel) : find(lane, at, perPixel);
    return index < 0 ? null : {low, columns, index, left, top};
  }

  function hover(event) {
    tip.hidden = true;
    const found = under(event);
    if (found === null) return;
    const {low, columns, index, left, top} = found;
    const several = columns.count[index] > 1;
    const name = columns.name[index] >= 0 ? drawing.names[columns.name[index]] : "";
    tip.replaceChildren();
    add(tip, "b", "", several ? count(columns.count[index], low ? "stretch" : "segment", low ? "stretches" : "segments") : name || "(name left out)");
    if (several && name) add(tip, "div", "", low ? `longest: ${name}` : name);
    add(tip, "div", "soft", `${drawing.categories[columns.category[index]]} · ${duration(columns.length[index])} · at ${duration(columns.start[index])}`);
    if (low) {
      const reason = drawing.reasons[trail.reason[index]];
      add(tip, "div", "soft", `on the critical path, because of ${drawing.dependencies[trail.dependency[index]]}${reason ? `: ${reason}` : ""}`);
    }
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(left + 14, width - tip.offsetWidth - 4))}px`;
    const below = event.clientY + 16 + tip.offsetHeight < window.innerHeight;
    tip.style.top = `${below ? top + 16 : top - tip.offsetHeight - 10}px`;
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
    if (found !== null && found.columns.name[found.index] >= 0) handle.picked(drawing.names[found.columns.name[found.index]]);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (dragged === null) {
      hover(event);
      return;
    }
    const move = (dragged.left - place(event).left) / (width - LABEL) * (dragged.view[1] - dragged.view[0]);
    show(dragged.view[0] + move, dragged.view[1] + move);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("keydown", (event) => {
    const span = view[1] - view[0];
    const keys = {
      "+": () => zoom(0.8, 0.5), "=": () => zoom(0.8, 0.5), "-": () => zoom(1.25, 0.5),
      ArrowLeft: () => show(view[0] - span / 8, view[1] - span / 8),
      ArrowRight: () => show(view[0] + span / 8, view[1] + span / 8),
      Home: () => show(0, total),
    };
    if (Object.hasOwn(keys, event.key)) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  [() => show(0, total), () => zoom(0.5, 0.5), () => zoom(2, 0.5)].forEach((act, place) => buttons[place].addEventListener("click", act));
  window.addEventListener("resize", redraw);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  draw();
  return handle;
}
