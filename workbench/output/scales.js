"use strict";

// What is drawn on any canvas over time: the scale with its lines, the steps, texts that fit, heads of arrows.
// `frame`: {x, view, left, top, width, height}, where time is drawn; `x` is the place of a time in ns.
function drawScales(tools) {
  const {duration} = tools;
  const STEP_APART = 16;

  function grid(pen, frame, soft, line) {
    const {x, view, left, top, width, height} = frame;
    const span = view[1] - view[0];
    const rough = span / Math.max(2, (width - left) / 130);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    pen.fillStyle = soft;
    pen.strokeStyle = line;
    pen.lineWidth = 1;
    for (let at = Math.ceil(view[0] / step) * step; at <= view[1]; at += step) {
      pen.beginPath();
      pen.moveTo(x(at), top - 6);
      pen.lineTo(x(at), height);
      pen.stroke();
      if (x(at) < width - 60) pen.fillText(tick(at), x(at) + 3, 10);
    }
  }

  function stepMarks(pen, frame, steps, soft) {
    const {x, left, top, width, height} = frame;
    pen.fillStyle = soft;
    pen.strokeStyle = soft;
    pen.setLineDash([2, 3]);
    let free = left, last = -Infinity;
    for (const step of steps) {
      const at = x(step.start);
      if (at < left || at > width || at - last < STEP_APART) continue;
      last = at;
      pen.beginPath();
      pen.moveTo(at, top - 8);
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

  function tick(ns) {
    return duration(ns).replace(/\.0+ /, " ").replace(/(\.\d*[1-9])0+ /, "$1 ");
  }

  function fit(pen, text, room) {
    if (room < 12) return "";
    if (pen.measureText(text).width <= room) return text;
    let keep = Math.max(1, Math.floor(text.length * room / pen.measureText(text).width) - 1);
    let short = `${text.slice(0, keep)}…`;
    while (keep > 1 && pen.measureText(short).width > room) short = `${text.slice(0, keep -= 1)}…`;
    return short;
  }

  function arrowHead(pen, colour, tipX, level, isDown) {
    const back = isDown ? -7 : 7;
    pen.fillStyle = colour;
    pen.beginPath();
    pen.moveTo(tipX, level);
    pen.lineTo(tipX - 4, level + back);
    pen.lineTo(tipX + 4, level + back);
    pen.fill();
  }

  return {grid, stepMarks, fit, arrowHead};
}
