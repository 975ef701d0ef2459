// What a reader can do: move the slider. Everything was computed before; charts are drawn by Vega-Lite.
const pageData = JSON.parse(document.getElementById("page-data").textContent);
const views = [];
const byId = (name) => document.getElementById(name);

function fill(list, make, values) {
  list.replaceChildren(...values.map(make));
}

function paragraph(text) {
  const made = document.createElement("p");
  made.textContent = text; // never as markup: names and cells are users' text
  return made;
}

function tableRow(cells) {
  const row = document.createElement("tr");
  cells.forEach((text, i) => {
    const cell = document.createElement(i ? "td" : "th");
    if (!i) cell.scope = "row";
    cell.textContent = text;
    row.append(cell);
  });
  return row;
}

function show(place) {
  const moment = pageData.moments[place];
  if (!moment) return; // a page without shares or rows
  const slider = byId("share");
  if (slider) {
    slider.value = String(moment.share);
    slider.setAttribute("aria-valuetext", moment.label);
    byId("label").textContent = moment.label;
    fill(byId("sentences"), paragraph, moment.sentences);
    document.querySelectorAll("#curve tbody tr").forEach((row, i) => {
      if (i === place) row.setAttribute("aria-current", "true");
      else row.removeAttribute("aria-current");
    });
  }
  const body = document.querySelector("#single tbody");
  if (body && slider) fill(body, tableRow, moment.rows);
  for (const each of document.querySelectorAll(".of-rows")) each.hidden = moment.rows.length === 0;
  for (const { view, ofRows } of views) {
    if (!ofRows || moment.rows.length) view.signal("chosen", place).runAsync(); // else it is hidden
  }
}

async function draw({ name, spec, of_rows: ofRows }) {
  const rows = pageData.moments.findIndex((moment) => moment.rows.length);
  spec.params[0].value = ofRows && !pageData.moments[pageData.start].rows.length ? rows : pageData.start;
  const made = await window.vegaEmbed(byId(`chart-${name}`), spec, {
    mode: "vega-lite",
    renderer: "svg",
    ast: true, // expressions are interpreted: the page's policy forbids compiling any
    actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
    defaultStyle: false, // the page has its own, the policy forbids others
    forceActionsMenu: true,
    tooltip: { disableDefaultStyle: true },
    downloadFileName: `mmdbounds-${name}`,
    i18n: { CLICK_TO_VIEW_ACTIONS: "Save this chart" },
  });
  const drawn = byId(`chart-${name}`).querySelector(".chart-wrapper");
  drawn.setAttribute("role", "img");
  drawn.querySelector("svg").setAttribute("aria-hidden", "true"); // its parts have no names
  const menu = byId(`chart-${name}`).querySelector("summary");
  if (menu) menu.setAttribute("aria-label", "Save this chart");
  views.push({ name, view: made.view, ofRows });
  if (name === "bounds") made.view.addResizeListener(() => requestAnimationFrame(align));
}

// The slider moves over shares, as the charts do, and stops at those that were computed.
function nearest(share) {
  const away = pageData.moments.map((moment) => Math.abs(moment.share - share));
  return away.indexOf(Math.min(...away));
}

function onKey(event) {
  const last = pageData.moments.length - 1;
  const here = nearest(Number(event.target.value));
  const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 5, PageDown: -5 };
  const place = { Home: 0, End: last }[event.key] ?? here + (steps[event.key] ?? NaN);
  if (Number.isNaN(place)) return;
  event.preventDefault();
  show(Math.min(last, Math.max(0, place)));
}

// Put the slider's ends below those of the chart's axis; its thumb is as wide as page.css says.
function align() {
  const slider = byId("share");
  const first = views.find(({ name }) => name === "bounds");
  const svg = document.querySelector("#chart-bounds svg.marks");
  if (!slider || !first || !svg) return;
  const thumb = 20;
  const scale = svg.getBoundingClientRect().width / Number(svg.getAttribute("width"));
  const { left: padding } = first.view.padding();
  const left = svg.getBoundingClientRect().left + scale * (padding + first.view.origin()[0]);
  const box = slider.parentElement.getBoundingClientRect();
  const inside = parseFloat(getComputedStyle(slider.parentElement).paddingLeft);
  slider.style.marginLeft = `${left - thumb / 2 - box.left - inside - slider.parentElement.clientLeft}px`;
  slider.style.width = `${scale * first.view.width() + thumb}px`;
}

async function start() {
  const slider = byId("share");
  if (slider) {
    slider.value = String(pageData.moments[pageData.start].share);
    slider.addEventListener("input", () => show(nearest(Number(slider.value))));
    slider.addEventListener("keydown", onKey);
  }
  for (const figure of pageData.figures) await draw(figure);
  show(slider ? nearest(Number(slider.value)) : pageData.start); // it may have been moved meanwhile
  align();
  document.documentElement.dataset.ready = "yes";
}

start();
