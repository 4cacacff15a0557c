// Draws charts when they come into view, and all of them before printing. Colours are CSS variables, so that neither
// the button nor the printer needs a chart to be drawn anew.
const figures = [...document.querySelectorAll(".chart")];
const ink = "var(--ink)";
const soft = "var(--soft)";
const font = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";

const config = (width) => ({
  aria: false, // the element around a chart says what it shows
  background: "transparent",
  font,
  padding: { left: 2, right: 14, top: 4, bottom: 4 },
  autosize: { type: "fit-x", contains: "padding" },
  view: { stroke: null },
  axis: {
    labelColor: soft,
    titleColor: soft,
    domainColor: "var(--line)",
    tickColor: "var(--line)",
    gridColor: "var(--grid)",
    labelFontSize: 11.5,
    titleFontSize: 11.5,
    titleFontWeight: "normal",
    titlePadding: 8,
    labelSeparation: 5,
    labelLimit: Math.max(70, Math.min(260, width * (width < 420 ? 0.48 : 0.36))),
  },
  legend: {
    labelColor: ink,
    titleColor: soft,
    labelFontSize: 12,
    titleFontSize: 11.5,
    titleFontWeight: "normal",
    symbolType: "square",
    symbolStrokeWidth: 0,
    labelLimit: Math.max(120, width - 60),
    offset: 8,
  },
  scale: { bandPaddingInner: 0.12, bandPaddingOuter: 0.06, rectBandPaddingInner: 0.04 },
  bar: { cornerRadiusEnd: 1.5, discreteBandSize: { band: 0.9 } },
});

const draw = async (figure) => {
  if (figure.dataset.state) return;
  figure.dataset.state = "drawing";
  const place = figure.querySelector(".drawing");
  const spec = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
  try {
    await globalThis.lapwingEmbed(place, spec, {
      mode: "vega-lite",
      renderer: "svg",
      ast: true, // expressions are interpreted: the page forbids code made from text
      actions: false,
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
      config: config(place.clientWidth),
    });
    figure.dataset.state = "drawn";
  } catch (error) {
    figure.dataset.state = "failed";
    place.textContent = "This chart could not be drawn; its figures are below.";
    console.error(error);
  }
  place.style.minHeight = "0";
};

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  },
  { rootMargin: "500px" },
);
for (const figure of figures) watcher.observe(figure);

const folded = [];
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not([open])")) {
    folded.push(part);
    part.open = true;
  }
  // Drawing waits for nothing but microtasks, so it is done when this event is.
  figures.forEach(draw);
});
addEventListener("afterprint", () => {
  for (const part of folded.splice(0)) part.open = false;
});

const root = document.documentElement;
const button = document.querySelector(".theme");
const isDark = () =>
  root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
const label = () => {
  button.textContent = isDark() ? "Light" : "Dark";
};
button.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  label();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
label();
button.hidden = false;

if (matchMedia("(max-width: 1000px)").matches) document.querySelector(".contents details").open = false;
