"use strict";

// Unpacks the data of the page and draws its charts once they are visible: each names its function, which a page
// without such a chart does not hold.
(async () => {
  const packed = Uint8Array.from(atob(document.getElementById("data").textContent), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const charts = await new Response(unpacked).json();
  const made = {};
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[Number(figure.dataset.chart)];
    const draw = {lanes: window.drawLanes, flame: window.drawFlame, plot: window.drawPlot, numbers: window.drawNumbers}[chart.draw];
    TOOLS.onceSeen(figure, () => { made[chart.draw] = draw(TOOLS, figure, chart.data); });
  }
  if (made.lanes) findNames(TOOLS, made.lanes, made.flame);
  document.body.dataset.drawn = "";  // for whoever waits for it
})();
