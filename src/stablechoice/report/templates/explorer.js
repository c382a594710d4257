// The explorer: choose a cell, filter its questions, open one. Details are loaded when they are first needed.
const stablechoice = (() => {
  const view = explorerView;
  const index = JSON.parse(document.getElementById("index").textContent);
  const form = document.getElementById("filters");
  const list = document.getElementById("questions");
  const count = document.getElementById("count");
  const more = document.getElementById("more");
  const STEP = 40;
  const loaded = new Map();
  const waiting = new Map();
  const state = { context: null, places: [], shown: 0, wanted: 0 };

  // Side files call this; they are scripts, since a page that is opened from disk may not fetch.
  function receive(key, detail) {
    loaded.set(key, detail);
  }

  function load(key) {
    if (loaded.has(key)) return Promise.resolve(loaded.get(key));
    if (!(key in index.details)) return Promise.reject(new Error(`This cell was not run${key in index.absent ? `: ${index.absent[key]}` : ""}.`));
    if (waiting.has(key)) return waiting.get(key);
    const promise = index.details[key] === "" ? inside(key) : beside(key);
    waiting.set(key, promise);
    promise.catch(() => waiting.delete(key));
    return promise;
  }

  function inside(key) {
    const holder = [...document.querySelectorAll("script[data-detail]")].find((one) => one.dataset.detail === key);
    receive(key, JSON.parse(holder.textContent));
    return Promise.resolve(loaded.get(key));
  }

  function beside(key) {
    return new Promise((resolve, reject) => {
      const script = document.createElement("script");
      const file = index.details[key];
      script.src = file.split("/").map(encodeURIComponent).join("/");
      script.addEventListener("load", () => (loaded.has(key) ? resolve(loaded.get(key)) : reject(new Error(`${file} is damaged: write the report again.`))));
      script.addEventListener("error", () => reject(new Error(`${file} does not lie beside this page: keep the report’s folder together.`)));
      document.head.append(script);
    });
  }

  function fill(name, entries) {
    for (const entry of entries) {
      const title = entry.simulated ? `${entry.title} (simulated)` : entry.title;
      form.elements[name].append(view.element("option", { value: entry.key }, title));
    }
  }

  // What stands in the address: #explorer/<benchmark>/<model>/<strategy>/<showing>[/<question>].
  const ORDER = ["benchmark", "model", "strategy", "showing"];
  function address(questionId) {
    const parts = ORDER.map((name) => form.elements[name].value);
    if (questionId) parts.push(questionId);
    return `#explorer/${parts.map(encodeURIComponent).join("/")}`;
  }
  function decoded(part) {
    try {
      return decodeURIComponent(part);
    } catch {
      return ""; // no address that this page ever wrote
    }
  }
  function follow() {
    if (!location.hash.startsWith("#explorer/")) return false;
    const parts = location.hash.split("/").slice(1).map(decoded);
    ORDER.forEach((name, place) => {
      const known = [...form.elements[name].options].some((option) => option.value === parts[place]);
      if (known) form.elements[name].value = parts[place];
    });
    form.elements.text.value = "";
    document.getElementById("explorer").scrollIntoView();
    refresh(parts[ORDER.length] ?? "");
    return true;
  }

  function wanted(about, seen, showing, text) {
    if (text && ![about.stem, ...about.options, about.id].some((one) => one.toLowerCase().includes(text))) return false;
    if (showing === "all") return true;
    if (showing === "relational") return about.relational;
    if (seen === null) return false;
    const flags = {
      right: view.CORRECT, flipped: view.FLIPPED, tied: view.TIED, "tie-dependent": view.TIE_DEPENDENT,
      broken: view.BROKEN, fixed: view.FIXED,
    };
    if (showing in flags) return (seen.flags & flags[showing]) !== 0;
    if (showing === "wrong") return (seen.flags & view.CORRECT) === 0;
    if (showing === "unscored") return seen.choice < 0;
    return seen.choice < 0 && showing === `unscored:${seen.reason}`;
  }

  function item(place) {
    const { context, strategy } = state;
    const about = view.question(context.questions.rows[place]);
    const seen = view.observation(context.answers.rows[place][1][strategy], context.answers);
    const open = view.element(
      "button",
      { type: "button", "aria-expanded": "false", class: "question" },
      view.element("span", { class: "text" }, about.stem),
      view.element("span", { class: "badges" }, ...(seen === null ? ["not run"] : [view.verdict(seen), ...view.marks(seen)])),
    );
    const entry = view.element("li", { "data-question": about.id }, open);
    open.addEventListener("click", () => {
      const opened = open.getAttribute("aria-expanded") === "true";
      open.setAttribute("aria-expanded", String(!opened));
      if (opened) entry.lastElementChild.remove();
      else entry.append(view.detail(context, place, form.elements.strategy.value));
      history.replaceState(null, "", address(opened ? "" : about.id));
    });
    return entry;
  }

  function extend() {
    const next = state.places.slice(state.shown, state.shown + STEP);
    list.append(...next.map(item));
    state.shown += next.length;
    more.hidden = state.shown >= state.places.length;
  }

  async function refresh(questionId = "") {
    const turn = ++state.wanted;
    const { benchmark, model, strategy, showing, text } = form.elements;
    count.textContent = "Loading …";
    try {
      const [questions, answers] = await Promise.all([
        load(`questions/${benchmark.value}`), load(`answers/${benchmark.value}/${model.value}`),
      ]);
      if (turn !== state.wanted) return;
      state.context = { index, questions, answers, benchmark: benchmark.value, model: model.value };
    } catch (problem) {
      if (turn !== state.wanted) return;
      list.replaceChildren();
      more.hidden = true;
      count.textContent = problem.message;
      return;
    }
    state.strategy = index.strategies.findIndex((one) => one.key === strategy.value);
    const sought = text.value.trim().toLowerCase();
    const { questions, answers } = state.context;
    state.places = questions.rows.map((_, place) => place).filter((place) => {
      const seen = view.observation(answers.rows[place][1][state.strategy], answers);
      return wanted(view.question(questions.rows[place]), seen, showing.value, sought);
    });
    state.shown = 0;
    list.replaceChildren();
    extend();
    const total = questions.rows.length;
    count.textContent = `${state.places.length} of ${total} question${total === 1 ? "" : "s"}`;
    if (questionId) openQuestion(questionId);
  }

  function openQuestion(questionId) {
    const at = state.places.findIndex((place) => state.context.questions.rows[place][0] === questionId);
    if (at < 0) return;
    while (state.shown <= at) extend();
    const entry = list.children[at];
    entry.firstElementChild.click();
    entry.scrollIntoView();
  }

  fill("benchmark", index.benchmarks);
  fill("model", index.models);
  fill("strategy", index.strategies);
  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => {
    history.replaceState(null, "", address(""));
    refresh();
  });
  form.elements.text.addEventListener("input", () => refresh());
  form.addEventListener("reset", () => setTimeout(refresh));
  more.addEventListener("click", extend);
  window.addEventListener("hashchange", follow);

  // Nothing is loaded until the explorer comes into view or an address asks for it.
  const watcher = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      if (state.wanted === 0) refresh();
    },
    { rootMargin: "400px" },
  );
  // A side file that calls back finds `stablechoice` only after this function has returned.
  setTimeout(() => {
    if (!follow()) watcher.observe(document.getElementById("explorer"));
  });
  return { receive, received: (key) => loaded.get(key) };
})();
