// One row of scores, which several sections look at: a change anywhere is drawn everywhere.
const COUNT = 8;
const [LOWEST, HIGHEST] = [-3, 3];
const PRESETS = {
  mixed: [0.3, 1.8, 1.2, -0.8, 0.9, 1, -1.5, -2.2],
  leader: [-0.4, 0.1, 2.4, -0.9, 0, -1.2, 0.3, -0.6],
  tie: [0.2, 1.5, -1, 1.4, -0.6, -1.8, 1.3, -0.3],
  plateaus: [1.4, 1.2, 1.3, -0.8, -1, -0.7, 0.5, 0.4],
  flat: [0.3, 0.2, 0.3, 0.1, 0.2, 0.3, 0.2, 0.1],
};

const row = {
  scores: [...PRESETS.mixed],
  watchers: [],
  set(scores) {
    row.scores = scores.map((score) => Number(score.toFixed(2)));
    row.redraw();
  },
  redraw() {
    for (const watcher of row.watchers) watcher();
  },
  change(index, score) {
    row.set(row.scores.map((old, place) => (place === index ? score : old)));
  },
};

// A slider for the one α that all sections with an α of entmax share.
const alphas = [];
function alphaSlider(id) {
  const own = slider(id, () => {
    for (const each of alphas) each.set(own.value);
    row.redraw();
  });
  alphas.push(own);
  return own;
}

// Draws now, whenever the row changes and whenever the page is laid out anew.
const redraws = [];
function watch(draw) {
  row.watchers.push(draw);
  redraws.push(draw);
}

const scoreAxis = { low: LOWEST, high: HIGHEST, ticks: [-3, -2, -1, 0, 1, 2, 3], form: (tick) => shown(tick, 0) };
const keyAxis = { low: -0.5, high: COUNT - 0.5, ticks: span(COUNT), form: (index) => index + 1, label: "key" };

// Handles on the scores of a drawing; `where` answers with its latest places.
const scoreHandles = (id, where) =>
  handles(id, {
    count: COUNT,
    name: "score of key",
    low: LOWEST,
    high: HIGHEST,
    read: (index) => row.scores[index],
    write: row.change,
    place: (index) => ({ x: where().x(index), y: where().y(row.scores[index]) }),
    valueAt: (y) => where().yValue(y),
  });

const spread = (weights) => {
  const zeros = weights.length - maps.support(weights);
  return `support ${maps.support(weights)} of ${weights.length}` + (zeros ? `, ${zeros} exact zero${zeros > 1 ? "s" : ""}` : "");
};
