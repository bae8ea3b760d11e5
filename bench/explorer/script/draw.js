// Drawing: SVG elements, axes, bars, lines and handles that can be dragged or moved by keys.
const NAMESPACE = "http://www.w3.org/2000/svg";

const $ = (id) => document.getElementById(id);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const span = (count) => Array.from({ length: count }, (_, index) => index);
const shown = (value, digits = 2) => value.toFixed(digits).replace(/^-(0\.?0*)$/, "$1").replace("-", "−");
const listed = (values, digits = 2) => values.map((value) => shown(value, digits)).join(", ");

function create(tag, attributes = {}, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const words = (x, y, text, kind = "dim", anchor = "middle") =>
  create("text", { x, y, class: kind, "text-anchor": anchor }, text);

// The drawing with a layer that is painted anew and one of handles, which outlive a new painting.
function layered(id) {
  const svg = $(id);
  if (!svg.querySelector(".back")) {
    svg.append(create("desc", { id: `${id}-said` }), create("g", { class: "back" }), create("g", { class: "handles" }));
    svg.setAttribute("aria-describedby", `${id}-said`);
  }
  return svg;
}

// An empty drawing as wide as it stands on the page, so that its text keeps its size.
function canvas(id) {
  const svg = layered(id);
  const width = Math.max(svg.parentElement.clientWidth, 130);
  const height = svg.dataset.shape === "square" ? Math.min(width, svg.dataset.height) : Number(svg.dataset.height);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  const back = svg.querySelector(".back");
  back.replaceChildren();
  return { svg, back, width, height, say: (text) => (svg.querySelector("desc").textContent = text) };
}

// Axes of a canvas. x and y are { low, high, log, ticks, label, form }; the answer maps values to places. Of the margins,
// `drop` is room between the lower axis and its numbers.
function frame(sheet, x, y, margin = {}) {
  const { left, right, top, drop } = { left: 46, right: 12, top: 10, drop: 0, ...margin };
  const bottom = (x.label ? 40 : 24) + drop;
  const at = (axis, value) => {
    const [low, high, v] = axis.log ? [axis.low, axis.high, value].map(Math.log) : [axis.low, axis.high, value];
    return (v - low) / (high - low);
  };
  const area = { left, right: sheet.width - right, top, bottom: sheet.height - bottom };
  const places = {
    ...area,
    x: (value) => area.left + at(x, value) * (area.right - area.left),
    y: (value) => area.bottom - at(y, value) * (area.bottom - area.top),
    yValue: (place) => y.low + ((area.bottom - place) / (area.bottom - area.top)) * (y.high - y.low),
    xValue: (place) => x.low + ((place - area.left) / (area.right - area.left)) * (x.high - x.low),
  };
  for (const tick of y.ticks ?? []) {
    const place = places.y(tick);
    sheet.back.append(create("line", { class: "grid", x1: area.left, x2: area.right, y1: place, y2: place }));
    sheet.back.append(words(area.left - 6, place + 4, (y.form ?? String)(tick), "dim", "end"));
  }
  for (const tick of x.ticks ?? []) {
    sheet.back.append(words(places.x(tick), area.bottom + drop + 16, (x.form ?? String)(tick)));
  }
  sheet.back.append(create("line", { class: "axis", x1: area.left, x2: area.right, y1: area.bottom, y2: area.bottom }));
  if (x.label) sheet.back.append(words((area.left + area.right) / 2, sheet.height - 4, x.label));
  if (y.label) {
    const middle = (area.top + area.bottom) / 2;
    sheet.back.append(
      create("text", { class: "dim", "text-anchor": "middle", transform: `translate(12 ${middle}) rotate(-90)` }, y.label),
    );
  }
  return places;
}

const path = (points) =>
  points.map(([x, y], index) => `${index ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

const line = (points, kind) => create("path", { class: `line ${kind}`, d: path(points) });

// A weight in few characters, never 0 for one that is not.
const small = (weight, wide) => (weight < 0.005 ? (wide ? "<.01" : "") : shown(weight).slice(wide || weight > 0.995 ? 0 : 1));

function weightFrame(sheet, count) {
  const axis = { low: -0.5, high: count - 0.5, ticks: span(count), form: (index) => index + 1 };
  return frame(sheet, axis, { low: 0, high: 1, ticks: [0, 0.5, 1] }, { left: 30, top: 16 });
}

// Bars of weights; an exact zero is no small bar but a cross on the axis.
function bars(sheet, weights, kind, values = true) {
  const places = weightFrame(sheet, weights.length);
  const wide = ((places.right - places.left) / weights.length) * 0.66;
  weights.forEach((weight, index) => {
    const [x, y] = [places.x(index), places.y(weight)];
    if (weight > 0) {
      sheet.back.append(
        create("rect", { class: `bar ${kind}`, x: x - wide / 2, y, width: wide, height: Math.max(places.bottom - y, 0.8) }),
      );
      if (values && wide > 11) sheet.back.append(words(x, y - 4, small(weight, wide > 24)));
    } else {
      sheet.back.append(create("path", { class: "zero", d: `M${x - 4} ${places.bottom - 9}l8 8m0 -8l-8 8` }));
    }
  });
  return places;
}

// Handles of a drawing, one per value: pulled up and down, or moved by the arrow keys.
function handles(id, { count, name, low, high, step = 0.1, read, write, place, valueAt, kind = "" }) {
  const layer = layered(id).querySelector(".handles");
  const made = span(count).map((index) => {
    const handle = create(
      "g",
      { class: `handle ${kind}`, role: "slider", tabindex: 0, "aria-label": `${name} ${index + 1}` },
      create("circle", { class: "knob", r: 6.5 }),
      create("rect", { class: "reach" }),
    );
    handle.setAttribute("aria-orientation", "vertical");
    handle.setAttribute("aria-valuemin", low);
    handle.setAttribute("aria-valuemax", high);
    const set = (value) => write(index, clamp(Math.round(value / step) * step, low, high));
    handle.addEventListener("keydown", (event) => {
      const moves = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 5, PageDown: -5 };
      if (event.key in moves) set(read(index) + moves[event.key] * step);
      else if (event.key === "Home") set(low);
      else if (event.key === "End") set(high);
      else return;
      event.preventDefault();
    });
    // Else a finger would scroll the page: not every browser heeds touch-action on a part of a drawing.
    handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false });
    const pulled = (event) => {
      const box = $(id).getBoundingClientRect();
      return valueAt((event.clientY - box.top) * ($(id).viewBox.baseVal.height / box.height));
    };
    let grip = 0; // how far beside the value the handle was taken hold of
    handle.addEventListener("pointerdown", (event) => {
      grip = pulled(event) - read(index);
      handle.setPointerCapture(event.pointerId);
      handle.focus({ preventScroll: true });
      event.preventDefault();
    });
    handle.addEventListener("pointermove", (event) => {
      if (handle.hasPointerCapture(event.pointerId)) set(pulled(event) - grip);
    });
    layer.append(handle);
    return handle;
  });
  return () => {
    const reach = Math.min(17, (place(1).x - place(0).x) / 2); // two neighbours never claim the same spot
    made.forEach((handle, index) => {
      const { x, y } = place(index);
      const square = { x: -reach, y: -reach, width: 2 * reach, height: 2 * reach, rx: reach };
      for (const [name, size] of Object.entries(square)) handle.querySelector(".reach").setAttribute(name, size.toFixed(1));
      handle.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
      handle.setAttribute("aria-valuenow", read(index).toFixed(2));
    });
  };
}

// Values in their order, moved apart where two are closer than `gap`, none beyond `high`.
function apart(values, gap, high = Infinity) {
  const order = span(values.length).sort((a, b) => values[a] - values[b] || a - b);
  const found = [];
  order.forEach((index, rank) => (found[index] = rank ? Math.max(values[index], found[order[rank - 1]] + gap) : values[index]));
  order.reverse().forEach((index, rank) => (found[index] = Math.min(found[index], rank ? found[order[rank - 1]] - gap : high)));
  return found;
}

// A range input with the number beside it, read as { value } and moved by set.
function slider(id, changed, form = (value) => shown(value)) {
  const [input, output] = [$(id), $(`${id}-value`)];
  const show = () => {
    output.textContent = form(input.valueAsNumber);
    input.setAttribute("aria-valuetext", output.textContent);
  };
  input.addEventListener("input", () => {
    show();
    changed();
  });
  show();
  return {
    get value() {
      return input.valueAsNumber;
    },
    set(value) {
      input.value = value;
      show();
    },
  };
}

function choice(id, changed) {
  $(id).addEventListener("change", changed);
  return {
    get value() {
      return $(id).value;
    },
  };
}

function legend(id, entries) {
  $(id).replaceChildren(
    ...entries.map(([name, kind]) => {
      const item = document.createElement("li");
      const sample = create("svg", { viewBox: "0 0 28 10", "aria-hidden": "true" });
      sample.append(create("path", { class: `line ${kind}`, d: "M1 5H27" }));
      item.append(sample, name);
      return item;
    }),
  );
}
