// Fills the table of connection.html from the browser's own timing of this page.
function show(id, text) {
  document.getElementById(id).textContent = text;
}

function ms(from, to) {
  return (to - from).toFixed(1) + " ms";
}

addEventListener("load", () => {
  const [nav] = performance.getEntriesByType("navigation");
  if (!nav) return;
  const fresh = nav.connectEnd > nav.connectStart;
  show("protocol", nav.nextHopProtocol || "not told");
  show("connect", fresh ? ms(nav.connectStart, nav.connectEnd) : "none: the connection was kept");
  show("tls", fresh && nav.secureConnectionStart > 0 ? ms(nav.secureConnectionStart, nav.connectEnd) : "none");
  show("wait", ms(nav.requestStart, nav.responseStart));
  show("bytes", nav.transferSize > 0 ? nav.transferSize.toLocaleString("en") : "none: from the browser's cache");
});
