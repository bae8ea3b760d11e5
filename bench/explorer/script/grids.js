// Sections on numbers that the library computed when the page was built: context length, and loss against margin.
const data = JSON.parse($("data").textContent);

function lengthSection() {
  const { lengths, spreads, leads, curves } = data.length;
  const kinds = ["softmax", "scalable", "topk", "entmax", "asentmax", "sparsemax"];
  const range = slider("length-spread", draw, (index) => shown(spreads[index], 0));
  const lead = slider("length-lead", draw, (index) => shown(leads[index], 1));
  legend("length-legend", curves.map((curve, index) => [curve.name, kinds[index]]));
  function draw() {
    const x = { low: 8, high: 16384, log: true, ticks: [8, 64, 512, 4096, 16384], form: (n) => n.toLocaleString("en"), label: "keys n" };
    const chosen = (curve, what) => curve[what][range.value][lead.value];
    const peaks = canvas("length-peak");
    const down = { low: 1e-4, high: 1, log: true, ticks: [1, 0.1, 0.01, 0.001, 0.0001], label: "peak weight" };
    const flat = canvas("length-entropy");
    const up = { low: 0, high: 10, ticks: [0, 2, 4, 6, 8, 10], label: "entropy, nats" };
    for (const [sheet, y, what] of [[peaks, down, "peak"], [flat, up, "entropy"]]) {
      const places = frame(sheet, x, y, { left: 58, right: 22 });
      curves.forEach((curve, index) => {
        const points = chosen(curve, what).map((value, step) => [places.x(lengths[step]), places.y(Math.max(value, y.low))]);
        sheet.back.append(line(points, kinds[index]));
      });
      const ends = curves.map((curve) => `${curve.name} ${shown(chosen(curve, what).at(-1), 4)}`).join(", ");
      sheet.say(`At n = 16,384: ${ends}.`);
    }
    const last = (name) => shown(chosen(curves.find((curve) => curve.name === name), "peak").at(-1), 4);
    $("length-said").textContent =
      `At n = 16,384 the best key gets ${last("softmax")} from softmax, ${last("entmax-1.5")} from entmax-1.5 and ${last("sparsemax")} from sparsemax.`;
  }
  redraws.push(draw);
}

function lossSection() {
  const { margins, classes, alphas, values } = data.loss;
  const kinds = ["softmax", "topk", "entmax", "sparsemax"];
  const margin = slider("loss-margin", draw, (value) => shown(value, 1));
  const among = choice("loss-classes", draw);
  legend("loss-legend", alphas.map((alpha, index) => [`α = ${alpha}`, kinds[index]]));
  function draw() {
    const sheet = canvas("loss-curves");
    const found = values[classes.indexOf(Number(among.value))];
    const x = { low: -2, high: 6, ticks: [-2, 0, 2, 4, 6], form: (tick) => shown(tick, 0), label: "margin: the true score minus the others" };
    const high = Math.ceil(Math.max(...found.flat()));
    const places = frame(sheet, x, { low: 0, high, ticks: [0, high / 2, high], label: "loss" });
    alphas.forEach((alpha, index) => {
      sheet.back.append(line(found[index].map((loss, step) => [places.x(margins[step]), places.y(loss)]), kinds[index]));
      if (alpha === 1) return;
      const end = places.x(1 / (alpha - 1));
      const top = places.bottom - 20 - 22 * index; // each at a height of its own, so that no label covers another
      sheet.back.append(create("line", { class: `margin ${kinds[index]}`, x1: end, x2: end, y1: top, y2: places.bottom }));
      const label = `1/(α−1) = ${1 / (alpha - 1)}`;
      const fits = end + 90 < sheet.width; // else the label ends where the drawing does
      sheet.back.append(words(fits ? end + 5 : sheet.width, top + 9, label, "ink", fits ? "start" : "end"));
    });
    const step = Math.round((margin.value + 2) * 10);
    const at = places.x(margin.value);
    sheet.back.append(create("line", { class: "marker", x1: at, x2: at, y1: places.top, y2: places.bottom }));
    found.forEach((losses, index) => {
      sheet.back.append(create("circle", { class: `point ${kinds[index]}`, cx: at, cy: places.y(losses[step]), r: 4 }));
    });
    const exact = (loss) => (loss === 0 ? "exactly 0" : shown(loss, 3));
    const said = alphas.map((alpha, index) => `${exact(found[index][step])} at α = ${alpha}`).join(", ");
    sheet.say(`Margin ${shown(margin.value, 1)}, ${among.value} classes: loss ${said}.`);
    $("loss-said").textContent = `Loss ${said}.`;
  }
  redraws.push(draw);
}
