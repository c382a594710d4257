// The explorer's view: one opened question. Every text reaches the page as text, never as markup.
const explorerView = (() => {
  const CORRECT = 1, FLIPPED = 2, TIED = 4, TIE_DEPENDENT = 8, BROKEN = 16, FIXED = 32;

  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== ""));
    return made;
  }
  const badge = (text, tone = "") => element("span", { class: `badge ${tone}` }, text);
  const spoken = (word) => word.replaceAll("_", " ");

  // Rows come as arrays to be small; here they get their names back (explorer_rows.py describes them).
  const question = ([id, subject, stem, options, gold, relational, shown]) => ({
    id, subject, stem, options, gold, relational: relational === 1, shown: shown ?? options,
  });
  function response(row, answers) {
    const [step, rotation, option, prompt, text, status, finish, detail] = row;
    const word = (number) => answers.words[number];
    return { step: word(step), rotation, option, prompt, text, status: word(status), finish: word(finish), detail: detail ?? "" };
  }
  function observation(row, answers) {
    if (row === 0) return null;
    const [choice, reason, how, flags, tied, scores, readings, used] = row;
    const word = (number) => answers.words[number];
    return {
      choice, flags, tied, scores, used, reason: word(reason), how: word(how),
      readings: readings.map(([rotation, chosen, why, rule, among, similarity]) => ({
        rotation, choice: chosen, reason: word(why), how: word(rule), tied: among ?? [], similarity: similarity ?? null,
      })),
    };
  }

  // How a prompt showed the options, read from the prompt itself: the canonical option in each slot, and the labels of
  // the slots (none for dashes); null where it showed none or where that is not known.
  function shownBy(asked, about, labels) {
    const part = asked.prompt.find((one) => typeof one === "string" && one.startsWith("o"));
    if (part === undefined) return null;
    const [marks, order] = part.slice(1).split("/");
    const count = about.shown.length;
    const letters = () => (marks === "" ? [...labels].slice(0, count) : marks.split(" "));
    return {
      key: part.includes("/") ? part : `${part}/${asked.rotation}`,
      labels: marks === "-" ? [] : letters(),
      order: order === undefined ? about.shown.map((_, slot) => (slot + asked.rotation) % count) : order.split(" ").map(Number),
    };
  }
  const written = (shown, about) =>
    shown.order.map((option, slot) => (shown.labels.length > 0 ? `${shown.labels[slot]}. ` : "- ") + about.shown[option]).join("\n");

  // A prompt is put together again from its template and from texts that are there anyway (prompt_parts.py).
  function prompt(asked, about, answers, labels, row) {
    return asked.prompt
      .map((part) => {
        if (typeof part === "number") return answers.literals[part];
        if (part === "q") return about.stem;
        if (part.startsWith("o")) return written(shownBy(asked, about, labels), about);
        if (part === "x") return about.shown[asked.option];
        return response(row[0][Number(part.slice(1))], answers).text;
      })
      .join("");
  }

  function verdict(seen) {
    if (seen.choice < 0) return badge(`unscored: ${spoken(seen.reason)}`, "quiet");
    return seen.flags & CORRECT ? badge("right", "good") : badge("wrong", "bad");
  }
  function marks(seen) {
    const found = [];
    if (seen.flags & FLIPPED) found.push(badge("flipped", "note"));
    if (seen.flags & TIE_DEPENDENT) found.push(badge("tie-dependent", "note"));
    else if (seen.flags & TIED) found.push(badge("tied", "note"));
    if (seen.flags & BROKEN) found.push(badge("broken", "bad"));
    if (seen.flags & FIXED) found.push(badge("fixed", "good"));
    return found;
  }

  const named = (about, labels, option) =>
    option < about.shown.length ? `${labels[option]} · ${about.shown[option]}` : "none of the options";
  const canonical = (about, labels) => ({ labels: [...labels].slice(0, about.shown.length), order: about.shown.map((_, option) => option) });

  // An option by the label that it was shown under, or by its text where it bore none.
  function asShown(about, shown, option) {
    const label = shown === null ? undefined : shown.labels[shown.order.indexOf(option)];
    return { label, text: option < about.shown.length ? about.shown[option] : "none of the options" };
  }

  function optionList(about, shown, chosen) {
    const list = element("ol", { class: "options" });
    shown.order.forEach((option, slot) => {
      const item = element(
        "li",
        { class: option === about.gold ? "gold" : null },
        element("span", { class: "label" }, shown.labels[slot] ?? "–"),
        element("span", { class: "text" }, about.shown[option]),
        option === about.gold ? badge("gold", "good") : null,
        option === chosen ? badge("read", "note") : null,
      );
      list.append(item);
    });
    return list;
  }

  function readingLine(seen, about, shown) {
    if (seen.choice < 0) return element("p", { class: "reading" }, "Read as ", badge(`unscored: ${spoken(seen.reason)}`, "quiet"));
    const { label, text } = asShown(about, shown, seen.choice);
    const name = label === undefined ? text : `${label} · ${text}`;
    const line = element("p", { class: "reading" }, "Read as ", element("strong", {}, name), ` by ${spoken(seen.how)}`);
    if (seen.similarity !== null && seen.similarity !== undefined) line.append(`, best cosine ${seen.similarity.toFixed(3)}`);
    const among = seen.tied.map((option) => asShown(about, shown, option));
    if (among.length > 1) line.append(`, tie among ${among.map((one) => one.label ?? `“${one.text}”`).join(", ")}`);
    return line;
  }

  function answered(asked) {
    const head = element("p", { class: "step" }, element("code", {}, asked.step));
    if (asked.status !== "ok") head.append(" ", badge(spoken(asked.status), "bad"));
    if (asked.finish === "length") head.append(" ", badge("cut at the token cap", "note"));
    const box = element("div", { class: "exchange" }, head);
    if (asked.status === "ok") box.append(element("pre", { class: "response", tabindex: "0" }, asked.text));
    else box.append(element("p", { class: "absent" }, asked.detail || "No answer came back."));
    return box;
  }

  function exchange(asked, about, answers, labels, row) {
    const box = answered(asked);
    const shown = element("details", { class: "prompt" }, element("summary", {}, "Prompt"));
    shown.addEventListener("toggle", () => {
      if (shown.open && shown.children.length === 1) shown.append(element("pre", { tabindex: "0" }, prompt(asked, about, answers, labels, row)));
    });
    box.append(shown);
    return box;
  }

  function card(title, ...children) {
    return element("section", { class: "card" }, element("h6", {}, title), ...children);
  }

  // What was asked in one order of the options. A list stands before each request that shows other options than the one
  // before it; labels name what was read only where all of the requests agree on them.
  function orderCard(rotation, here, reading, about, labels, show) {
    const parts = [];
    const keys = new Set();
    let last = null;
    for (const asked of here) {
      const shown = shownBy(asked, about, labels);
      if (shown !== null && shown.key !== last?.key) parts.push(optionList(about, shown, reading ? reading.choice : -1));
      keys.add(shown?.key);
      last = shown;
      parts.push(show(asked));
    }
    if (reading) parts.push(readingLine(reading, about, keys.size === 1 ? last : null));
    const title = rotation < about.shown.length ? `Rotation ${rotation}` : `Order ${rotation}, beyond the rotations`;
    return card(rotation === 0 ? "Rotation 0, the canonical order" : title, ...parts);
  }

  // One card for each order of the options, for what was asked once with options hidden, or for each hypothesis.
  function cards(seen, about, answers, labels, row) {
    const asked = seen.used.map((place) => response(row[0][place], answers));
    const show = (one) => exchange(one, about, answers, labels, row);
    const hypotheses = asked.filter((one) => one.option >= 0);
    if (hypotheses.length > 0) {
      return hypotheses.map((one) => {
        const score = seen.scores[one.option];
        const read = score === null ? badge("no valid score", "quiet") : element("strong", {}, `score ${score}`);
        const title = `Hypothesis ${named(about, labels, one.option)}`;
        return card(title, element("p", { class: "reading" }, read, one.option === about.gold ? " " : "", one.option === about.gold ? badge("gold", "good") : null), show(one));
      });
    }
    const hidden = asked.filter((one) => one.step.endsWith("free_text"));
    const open = asked.filter((one) => !hidden.includes(one));
    const readings = seen.readings.map((one) => readingLine(one, about, null));
    if (open.length === 0 && hidden.length > 0) return [card("Options hidden", ...hidden.map(show), ...readings)];
    const made = hidden.length > 0 ? [card("Options hidden", ...hidden.map(show))] : [];
    const rotations = [...new Set([...open.map((one) => one.rotation), ...seen.readings.map((one) => one.rotation)])];
    for (const rotation of rotations.sort((one, other) => one - other)) {
      const reading = seen.readings.find((one) => one.rotation === rotation);
      const here = open.filter((one) => one.rotation === rotation);
      made.push(orderCard(rotation, here, reading, about, labels, show));
    }
    return made;
  }

  // What was asked again in the same order, a card for each repetition; only some questions have that.
  function repeats(row, at, answers) {
    const word = (number) => answers.words[number];
    const made = (row[2] ?? []).filter(([strategy]) => strategy === at).map(([, repetition, step, text, status, finish, detail]) => ({
      repetition, step: word(step), text, status: word(status), finish: word(finish), detail: detail ?? "",
    }));
    return [...new Set(made.map((one) => one.repetition))].map((repetition) => {
      const parts = made.filter((one) => one.repetition === repetition);
      return card(`Repetition ${repetition}`, ...parts.map(answered));
    });
  }

  function orders(seen, labels) {
    if (seen.readings.length < 2) return "";
    return seen.readings.map((reading) => (reading.choice < 0 ? "–" : labels[reading.choice])).join(" ");
  }

  function strategyTable(context, about, row, chosen, choose) {
    const body = element("tbody");
    context.index.strategies.forEach((strategy, place) => {
      const seen = observation(row[1][place], context.answers);
      const pick = element("button", { type: "button", "aria-pressed": String(strategy.key === chosen) }, strategy.title);
      pick.addEventListener("click", () => choose(strategy.key));
      const line = element("tr", { class: strategy.key === chosen ? "chosen" : null }, element("th", { scope: "row" }, pick));
      if (seen === null) line.append(element("td", { colspan: "4", class: "m" }, "not run"));
      else {
        line.append(
          element("td", {}, verdict(seen), ...marks(seen).flatMap((mark) => [" ", mark])),
          element("td", {}, seen.choice < 0 ? "–" : named(about, context.index.labels, seen.choice)),
          element("td", { class: "rule" }, spoken(seen.how)),
          element("td", { class: "orders" }, orders(seen, context.index.labels)),
        );
      }
      body.append(line);
    });
    const heads = ["Strategy", "Verdict", "Answer", "Read by", "Choice by rotation"].map((title) => element("th", { scope: "col" }, title));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
    return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Answers by strategy" }, table);
  }

  function provenanceLink(...cell) {
    const id = `cell-${cell.join("-")}`;
    if (document.getElementById(id) === null) return element("p", { hidden: true });
    return element("p", { class: "small" }, element("a", { href: `#${id}` }, "Provenance of this cell"));
  }

  // The whole detail of one question, redrawn when another strategy is chosen in it.
  function detail(context, place, strategy) {
    const about = question(context.questions.rows[place]);
    const row = context.answers.rows[place];
    const box = element("div", { class: "detail" });
    function draw(chosen) {
      const at = context.index.strategies.findIndex((one) => one.key === chosen);
      const seen = observation(row[1][at], context.answers);
      const labels = context.index.labels;
      const facts = element("p", { class: "facts-line" }, element("code", {}, about.id), ` · ${spoken(about.subject)}`);
      if (about.relational) facts.append(" · relational options");
      box.replaceChildren(
        facts,
        element("p", { class: "stem" }, about.stem),
        optionList(about, canonical(about, labels), seen ? seen.choice : -1),
        element("p", { class: "small canonical" }, "The canonical order; in the table, its letters name the options. Below it, each card shows the labels and the order that the model was shown."),
        element("h5", {}, "Every strategy on this question"),
        strategyTable(context, about, row, chosen, (next) => {
          draw(next);
          box.querySelector('button[aria-pressed="true"]').focus();
        }),
        element("h5", {}, `${context.index.strategies[at].title}: what was asked and answered`),
        provenanceLink(context.model, context.benchmark, chosen),
      );
      if (seen === null) box.append(element("p", { class: "absent" }, "Not run."));
      else box.append(element("div", { class: "cards" }, ...cards(seen, about, context.answers, labels, row)));
      const again = repeats(row, at, context.answers);
      if (again.length > 0) box.append(element("h5", {}, "Asked again in the same order"), element("div", { class: "cards" }, ...again));
    }
    draw(strategy);
    return box;
  }

  return { CORRECT, FLIPPED, TIED, TIE_DEPENDENT, BROKEN, FIXED, element, question, observation, verdict, marks, detail };
})();
