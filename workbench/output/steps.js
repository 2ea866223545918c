"use strict";

// Draws the lengths of the steps as bars, the median as a line; a click on a bar tells about its step.
function drawSteps(tools, parent, {steps, summary}) {
  const {add, duration, share} = tools;
  const WIDTH = 1100, HEIGHT = 190, LEFT = 76, TOP = 12, FLOOR = HEIGHT - 24, LABEL = 34;
  const most = Math.max(1, ...steps.map((step) => Number(step.length_ns)));
  const wide = (WIDTH - LEFT) / steps.length;
  const y = (ns) => FLOOR - (FLOOR - TOP) * ns / most;
  const box = add(parent, "div", "chart");
  box.innerHTML = "<svg role='img' aria-label='Length of each step'></svg>";
  const svg = box.firstChild;
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);

  function draw(inside, tag, attributes, text) {
    const element = document.createElementNS(svg.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    if (text !== undefined) element.textContent = text;
    inside.append(element);
    return element;
  }

  function kind(step) {
    return step.outlier ? "outlier" : step.typical ? "typical" : "usual";
  }

  function describe(step) {
    const spot = step.hotspot === null ? "" : `; mostly ${step.hotspot} (${share(step.hotspot_share)})`;
    const what = step.outlier ? ", an outlier" : step.typical ? ", the typical step" : "";
    const parts = step.gpu_share === null ? "" : `: ${share(step.gpu_share)} GPU, ${share(step.cpu_share)} CPU, ` +
      `${share(step.gap_share)} gaps, ${share(step.unclear_share)} unknown or untraced, ` +
      `${share(step.inferred_share)} inferred`;
    return `Step ${step.number}, ${duration(Number(step.length_ns))}${what}${parts}${spot}`;
  }

  for (const ns of [0, most]) {
    draw(svg, "line", {x1: LEFT, x2: WIDTH, y1: y(ns), y2: y(ns), class: "axis"});
    draw(svg, "text", {x: LEFT - 6, y: y(ns) + 4, "text-anchor": "end"}, ns ? duration(ns) : "0");
  }
  const told = add(parent, "p", "note", "Click a bar to read about its step; its title says the same.");
  const every = Math.ceil(LABEL / wide);
  steps.forEach((step, place) => {
    const length = Number(step.length_ns), left = LEFT + place * wide;
    const bar = draw(svg, "rect", {
      x: left + wide * 0.1, y: y(length), width: Math.max(0.5, Math.min(wide * 0.8, 90)),
      height: Math.max(1, FLOOR - y(length)), class: kind(step),
    });
    draw(bar, "title", {}, describe(step));
    bar.addEventListener("click", () => { told.textContent = `${describe(step)}.`; });
    if (place % every === 0) draw(svg, "text", {x: left + Math.min(wide, 112) / 2, y: HEIGHT - 8, "text-anchor": "middle"}, String(step.number));
  });
  const median = Number(summary.median_ns);
  draw(svg, "line", {x1: LEFT, x2: WIDTH, y1: y(median), y2: y(median), class: "median"});
  const legend = add(parent, "div", "legend");
  for (const [name, text] of [["usual", "step"], ["typical", "typical step"], ["outlier", "outlier"]]) {
    const item = add(legend, "span");
    add(item, "span", `swatch ${name}`);
    item.append(text);
  }
  add(legend, "span", "", `dashed: median, ${duration(median)}`);
}
