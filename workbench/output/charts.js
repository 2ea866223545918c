"use strict";

// Unpacks the data of the page and draws its charts once they are visible: each names its function, which a page
// without such a chart does not hold. The library of plots is unpacked for the first one: a page opens without it.
(async () => {
  function unpack(id) {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")));
  }

  async function load() {
    const script = document.createElement("script");
    script.textContent = await unpack("library").text();
    document.head.append(script);  // runs it at once
  }

  const charts = await unpack("data").json();
  const made = {}, begun = [];
  let loaded = null;
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[Number(figure.dataset.chart)];
    const draw = {lanes: window.drawLanes, flame: window.drawFlame, plot: window.drawPlot, tree: window.drawTree, numbers: window.drawNumbers}[chart.draw];
    TOOLS.onceSeen(figure, () => {
      if (["plot", "tree"].includes(chart.draw)) begun.push((loaded ??= load()).then(() => draw(TOOLS, figure, chart.data)));
      else made[chart.draw] = draw(TOOLS, figure, chart.data);
    });
  }
  if (made.lanes) findNames(TOOLS, made.lanes, made.flame);
  await Promise.all(begun);
  document.body.dataset.drawn = "";  // for whoever waits for it
})();
