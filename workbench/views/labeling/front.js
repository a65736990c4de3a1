// Draws what the kernel tells, and says what the person did. It decides nothing and keeps nothing but what is being
// typed. Text of a memory only ever becomes a text node.

const KEYS = [
  [["j", "↓"], "next candidate"],
  [["k", "↑"], "previous candidate"],
  [["x", "Space"], "mark this unit as evidence, or take the mark away"],
  [["r"], "mark its whole resource"],
  [["Enter"], "confirm what is marked, and go on"],
  [["n"], "none matched: nothing in this corpus answers the query"],
  [["s"], "skip for now"],
  [["u"], "undo the last step, a stored decision too"],
  [["/"], "search the frozen corpus for what no arm recalled; Esc goes back"],
  [["b"], "blind: shuffled, without ranks and scores; again for the final order"],
  [["PgDn", "PgUp"], "scroll the text"],
  [["[", "]"], "previous or next run of the queue"],
  [["c"], "write a note; Esc comes back"],
  [["m", "t"], "in a conflict: store mine, or let theirs stand"],
];
const STANDING = { open: "open", skipped: "skipped", ready: "ready", needs_evidence: "none matched" };
const STAGE = { exact: "exact", bm25: "words", vector: "vector", rrf: "fused", rerank: "rerank" };
const ORDERS = { final: "final order", bm25: "by words", vector: "by vectors", rrf: "fused", rerank: "reranked", blind: "blind" };

// Pieces match by turns: the first does not, the second does.
function matched(pieces) {
  const text = document.createDocumentFragment();
  (pieces || []).forEach((piece, place) => {
    if (piece) text.append(place % 2 ? h("mark", {}, piece) : piece);
  });
  return text;
}

const same = (one, other) => one.resource_id === other.resource_id && (one.unit_key || null) === (other.unit_key || null);

function render({ model, el }) {
  let noting = null;
  const view = `mwl-${Math.random().toString(36).slice(2)}`;

  // ---- parts that stand for good -------------------------------------------------------------------------------
  const bar = h("div", { class: "mwl-bar", role: "img" });
  const counts = h("div", { class: "mwl-counts" });
  const query = h("h2", { class: "mw-query", "aria-live": "polite" });
  const chip = h("span", { class: "mw-chip" });
  const status = h("div", { class: "mw-status", role: "status", "aria-live": "polite" });
  const lost = h("div", { class: "mw-lost", role: "alert", hidden: true },
    "The kernel does not answer: what you did last is not stored yet. If it was restarted, run the cell again; " +
    "confirmed decisions are stored, and marks are kept.");
  const { say, hears } = connection(model, lost);
  const send = (what, more = {}, table = true) => say(what, { ...(table ? { at: model.get("head").run } : {}), ...more });
  const queue = h("div", { class: "mw-list", role: "listbox", "aria-label": "Runs" });
  const queueCount = h("span", { class: "mw-dim" });
  const cards = h("div", { class: "mw-list", role: "listbox", "aria-label": "Candidates", tabindex: "-1" });
  const cardsTitle = h("span", { class: "mw-title" });
  const order = h("select", { "aria-label": "Order of the candidates", onchange: () => { send("order", { order: order.value }); root.focus(); } },
    ...Object.entries(ORDERS).map(([value, name]) => h("option", { value }, name)));
  const find = h("input", { type: "search", placeholder: "Search the frozen corpus  /", "aria-label": "Search the frozen corpus" });
  const text = h("div", { class: "mwl-text", role: "region", "aria-label": "Text", tabindex: "0" });
  const textTitle = h("div", { class: "mw-title mw-path" });
  const marks = h("div", { class: "mwl-marks", "aria-label": "Marked evidence" });
  const note = h("textarea", { rows: "1", placeholder: "Note on this run  c", "aria-label": "Note" });
  const report = h("div", { class: "mw-report", "aria-label": "Report so far" });
  const standing = h("select", { "aria-label": "Which runs" },
    h("option", { value: "" }, "all runs"), ...Object.entries(STANDING).map(([value, name]) => h("option", { value }, name)));
  const project = h("select", { "aria-label": "Project" });
  const zero = h("input", { type: "checkbox" });
  const disagreeing = h("input", { type: "checkbox" });
  const button = (name, what, more, kind = "") =>
    h("button", { class: `mw-button ${kind}`, onclick: () => { send(what, more); root.focus(); } }, name);
  const confirm = button("Confirm", "confirm", {}, "mw-main");
  const undo = button("Undo", "undo");
  const help = h("div", { class: "mw-over", role: "dialog", "aria-modal": "true", "aria-label": "Keys", tabindex: "-1", hidden: true },
    h("div", { class: "mw-dialog" }, h("h3", {}, "Keys"),
      h("dl", {}, ...KEYS.flatMap(([keys, does]) => [h("dt", {}, ...keys.map((key) => h("kbd", {}, key))), h("dd", {}, does)])),
      h("button", { class: "mw-button mw-main", onclick: () => toggleHelp(false) }, "Close  Esc")));
  const conflict = h("div", { class: "mw-over", role: "alertdialog", "aria-modal": "true", "aria-label": "Conflict", tabindex: "-1", hidden: true });

  const root = h("div", { class: "mw mwl", tabindex: "0", role: "application", "aria-label": "Labelling", "data-lm-suppress-shortcuts": "true" },
    h("header", {}, bar, h("div", { class: "mw-line" }, counts, h("span", { class: "mw-gap" }), project, standing,
      h("label", {}, zero, " zero hits"), h("label", {}, disagreeing, " arms disagree"),
      h("span", { class: "mw-dim mwl-hint" }, "click here to use the keys"),
      h("button", { class: "mw-button", "aria-label": "Keys", onclick: () => toggleHelp(true) }, "?"))),
    h("div", { class: "mwl-ask" }, query, chip),
    h("div", { class: "mwl-panes" },
      h("section", { class: "mwl-queue" }, h("div", { class: "mw-line" }, h("span", { class: "mw-title" }, "Runs"), queueCount), queue),
      h("section", { class: "mwl-found" }, h("div", { class: "mw-line" }, cardsTitle, h("span", { class: "mw-gap" }), order), h("div", { class: "mw-line" }, find), cards),
      h("section", { class: "mwl-read" }, h("div", { class: "mw-line" }, textTitle), text)),
    h("footer", {},
      h("div", { class: "mw-line" }, marks, h("span", { class: "mw-gap" }), confirm, button("None matched", "none"), button("Skip", "skip"), undo),
      status, lost, h("div", { class: "mw-line mwl-below" }, note, report)),
    help, conflict);
  el.append(root);

  // ---- what the person does ------------------------------------------------------------------------------------
  const chooseFilter = () => {
    send("filter", { standing: standing.value, project: project.value, zero_hits: zero.checked, disagreeing: disagreeing.checked });
    root.focus();
  };
  for (const control of [standing, project, zero, disagreeing]) control.addEventListener("change", chooseFilter);

  const toggleHelp = (open) => { help.hidden = !open; (open ? help : root).focus(); };
  const keepNote = () => {
    if (noting === null) return;
    clearTimeout(noting.timer);
    send("note", { run: noting.run, text: note.value }, false);
    noting = null;
  };
  note.addEventListener("input", () => {
    if (noting) clearTimeout(noting.timer);
    noting = { run: model.get("head").run, timer: setTimeout(keepNote, 400) };
  });
  note.addEventListener("blur", keepNote);

  const neighbour = (by) => {
    const { rows } = model.get("queue");
    const place = rows.findIndex((row) => row.run === model.get("head").run);
    const row = rows[place < 0 ? 0 : place + by];
    if (row) send("open", { run: row.run });
  };
  const scroll = (pages) => text.scrollBy({ top: pages * text.clientHeight * 0.9 });

  const COMMANDS = {
    j: () => send("move", { by: 1 }), ArrowDown: () => send("move", { by: 1 }),
    k: () => send("move", { by: -1 }), ArrowUp: () => send("move", { by: -1 }),
    Home: () => send("point", { place: 0 }), End: () => send("point", { place: 1e6 }),
    x: () => send("mark", { whole: false }), " ": () => send("mark", { whole: false }),
    r: () => send("mark", { whole: true }),
    Enter: () => send("confirm"), n: () => send("none"), s: () => send("skip"), u: () => send("undo"),
    "/": () => { find.focus(); find.select(); },
    b: () => send("order", { order: model.get("head").order === "blind" ? "final" : "blind" }),
    c: () => note.focus(),
    "[": () => neighbour(-1), "]": () => neighbour(1),
    PageDown: () => scroll(1), PageUp: () => scroll(-1),
    "?": () => toggleHelp(true),
    Escape: () => { if (model.get("head").search !== null) send("search", { text: "" }); },
  };
  const CHOICES = { m: "mine", t: "theirs" };
  const DECIDING = new Set(["Enter", "n", "s", "u", "x", " ", "r"]);

  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (isForeign(event)) return;
    const typing = event.target.closest("input, textarea, select");
    const pressing = event.target.closest("button") && (event.key === "Enter" || event.key === " ");
    const dialog = [help, conflict].find((one) => !one.hidden);
    let command = COMMANDS[event.key];
    if (dialog && event.key === "Tab") command = () => tabWithin(dialog, event.shiftKey);
    else if (dialog === help) command = ["Escape", "?", "Enter"].includes(event.key) ? () => toggleHelp(false) : null;
    else if (typing && event.key === "Escape") command = () => { if (typing === find) { find.value = ""; send("search", { text: "" }); } root.focus(); };
    else if (typing === find && event.key === "Enter") command = () => { send("search", { text: find.value }); root.focus(); };
    else if (typing || (pressing && !event.repeat)) return;
    else if (dialog) command = CHOICES[event.key] && (() => send(CHOICES[event.key]));
    else if (event.repeat && DECIDING.has(event.key)) command = () => {};
    if (!command) return;
    event.preventDefault();
    command();
  });

  // ---- what the kernel tells -----------------------------------------------------------------------------------
  const segments = ["ready", "needs_evidence", "skipped", "open"];

  function drawHead() {
    const head = model.get("head");
    const { progress } = head;
    put(query, head.query || "No run is on the table");
    chip.textContent = (STANDING[head.standing] || "") + (head.version > 1 ? ` · version ${head.version}` : "");
    chip.dataset.standing = head.standing;
    chip.hidden = !head.run;
    const state = head.unsaved ? "Not stored yet: press Enter to try again. " : head.changed ? "Not confirmed yet. " : "";
    put(status, state + head.message + (head.unreadable ? ` ${head.unreadable} texts could not be read.` : ""));
    status.dataset.kind = head.unsaved ? "bad" : "";
    undo.disabled = !head.can_undo;
    confirm.textContent = head.marks.length ? `Confirm ${head.marks.length}` : "Confirm";

    bar.replaceChildren(...segments.map((one) => h("span", { "data-standing": one, style: `flex-grow: ${progress[one]}` })));
    const decided = progress.ready + progress.needs_evidence;
    const pace = progress.seconds ? ` · ${Math.round(progress.seconds)} s a case · ${Math.round(3600 / progress.seconds)} an hour` : "";
    counts.replaceChildren(h("b", {}, `${decided} of ${progress.total} decided`),
      ` · ${progress.ready} ready · ${progress.needs_evidence} none matched · ${progress.skipped} skipped${pace}`);
    if (progress.unsaved) counts.append(h("span", { class: "mw-bad" }, ` · ${progress.unsaved} not stored`));
    bar.setAttribute("aria-label", counts.textContent);

    standing.value = head.filter.standing;
    project.replaceChildren(h("option", { value: "" }, "all projects"), ...head.projects.map((one) => h("option", { value: one }, one)));
    project.value = head.filter.project;
    project.hidden = head.projects.length < 2;
    zero.checked = head.filter.zero_hits;
    disagreeing.checked = head.filter.disagreeing;
    order.value = head.order;
    if (document.activeElement !== find) find.value = head.search || "";
    if (document.activeElement !== note || (noting && noting.run !== head.run)) { keepNote(); note.value = head.note; }

    marks.replaceChildren(...(head.marks.length ? head.marks.map(drawMark) : [h("span", { class: "mw-dim" }, head.run ? "nothing marked" : "")]));
    drawConflict(head.conflict);
    drawCursor();
  }

  const markName = (one) => (one.unit_key ? one.unit_key : `${one.resource_id} (whole)`);
  function drawMark(one) {
    return h("span", { class: "mwl-mark", title: markName(one) }, h("bdi", {}, markName(one)),
      h("button", { "aria-label": `Take the mark off ${markName(one)}`, onclick: () => { send("toggle", { ref: one }); root.focus(); } }, "×"));
  }

  function drawConflict(seen) {
    const opening = seen && conflict.hidden;
    conflict.hidden = !seen;
    if (!seen) { conflict.replaceChildren(); return; }
    const side = (name, said, key, what) => h("div", { class: "mwl-side" }, h("h4", {}, name), h("p", {}, said.kind),
      h("ul", {}, ...said.marks.map((one) => h("li", {}, markName(one)))),
      h("button", { class: "mw-button mw-main", onclick: () => { send(what); root.focus(); } }, h("kbd", {}, key), ` ${what === "mine" ? "Store mine" : "Let theirs stand"}`));
    conflict.replaceChildren(h("div", { class: "mw-dialog" }, h("h3", {}, "Somebody else decided this case meanwhile"),
      h("p", { class: "mw-query" }, seen.query), h("p", { class: "mw-dim" }, `You saw version ${seen.expected}; version ${seen.version} stands now. Nothing was written.`),
      h("div", { class: "mwl-sides" }, side("Yours", seen.mine, "m", "mine"), side("Theirs", seen.theirs, "t", "theirs"))));
    if (opening) conflict.focus();
  }

  const flags = (row) => [
    row.unsaved && ["!", "decided, and not stored yet"],
    row.candidates === 0 && ["0", "no candidates"],
    row.disagreement >= 0.5 && ["≠", "the arms disagree on their first ten"],
    row.noted && ["✎", "has a note"],
  ].filter(Boolean);

  function drawQueue() {
    const { rows, total, first } = model.get("queue");
    queueCount.textContent = total ? `${first + 1}–${first + rows.length} of ${total.toLocaleString()}` : "none";
    queue.replaceChildren(...rows.map((row) =>
      h("div", { class: "mw-row", role: "option", "data-run": row.run, "data-standing": row.standing, title: row.query,
        onclick: () => { send("open", { run: row.run }); root.focus(); } },
      h("span", { class: "mw-dot", title: STANDING[row.standing] }), h("span", { class: "mw-line2" }, row.query),
      ...flags(row).map(([sign, means]) => h("span", { class: "mw-dim", title: means }, sign)))));
    if (!rows.length) queue.append(h("p", { class: "mw-empty" }, "No run is shown by this filter."));
    drawCursor();
  }

  function drawCards() {
    const { kind, cards: list } = model.get("cards");
    cardsTitle.textContent = kind === "hits" ? `${list.length} found in the corpus` : `${list.length} candidates`;
    order.hidden = kind === "hits";
    cards.setAttribute("aria-label", kind === "hits" ? "Resources found" : "Candidates");
    cards.replaceChildren(...list.map((card, place) =>
      h("div", { class: "mwl-card", role: "option", id: `${view}-${place}`, onclick: () => { send("point", { place }); root.focus(); } },
        h("button", { class: "mwl-box", tabindex: "-1", "aria-label": "Mark", onclick: (event) => {
          event.stopPropagation(); send("point", { place }); send("mark", { whole: kind === "hits" }); root.focus(); } }),
        h("div", { class: "mwl-body" },
          h("div", { class: "mw-path" }, card.rank ? h("b", {}, `${card.rank} `) : null, card.path),
          card.heading ? h("div", { class: "mwl-heading" }, card.heading) : null,
          h("div", { class: "mwl-excerpt" }, matched(card.excerpt)),
          card.stages ? h("div", { class: "mwl-stages" },
            ...card.stages.filter(([, rank]) => rank != null).map(([name, rank, value]) =>
              h("span", { title: `${STAGE[name]}: rank ${rank}${value == null ? "" : `, score ${value}`}` }, `${STAGE[name]} ${rank}`, h("i", {}, score(value)))),
            h("span", { class: "mwl-outcome", "data-kind": card.outcome === "selected" ? "good" : "" }, card.outcome.replaceAll("_", " "))) : null))));
    if (!list.length) cards.append(h("p", { class: "mw-empty" }, kind === "hits" ? "No text of the corpus has any of these words." :
      model.get("head").run ? "No arm recalled anything. Search the corpus with /, or press n." : "Choose a run, or another filter."));
    drawCursor();
  }

  function drawCursor() {
    const head = model.get("head");
    const { cards: list } = model.get("cards");
    [...cards.querySelectorAll(".mwl-card")].forEach((element, place) => {
      const card = list[place];
      const here = place === head.cursor;
      const unit = card && head.marks.some((one) => same(one, card));
      const whole = card && head.marks.some((one) => same(one, { resource_id: card.resource_id }));
      element.setAttribute("aria-selected", here);
      element.setAttribute("aria-checked", unit || whole);
      element.dataset.mark = whole ? "whole" : unit ? "unit" : "";
      if (here) { root.setAttribute("aria-activedescendant", element.id); keepInSight(cards, element); }
    });
    if (!list.length) root.removeAttribute("aria-activedescendant");
    for (const element of queue.querySelectorAll(".mw-row")) {
      const here = element.dataset.run === head.run;
      element.setAttribute("aria-selected", here);
      if (here) keepInSight(queue, element);
    }
  }

  function drawText() {
    const seen = model.get("text");
    textTitle.textContent = textTitle.title = seen.resource_id ? seen.path || seen.resource_id : "";
    const cut = (count) => count ? h("div", { class: "mw-empty" }, `… ${count.toLocaleString()} more characters …`) : null;
    const unit = h("div", { class: "mwl-unit" }, matched(seen.unit));
    text.replaceChildren(...(seen.resource_id ? [
      seen.missing ? h("p", { class: "mw-bad" }, seen.missing) : null,
      seen.title ? h("div", { class: "mwl-doc" }, seen.title) : null,
      seen.description.join("") ? h("div", { class: "mwl-description" }, matched(seen.description)) : null,
      cut(seen.cut_before), h("div", { class: "mwl-around" }, matched(seen.before)), unit,
      h("div", { class: "mwl-around" }, matched(seen.after)), cut(seen.cut_after)].filter(Boolean) : []));
    showUnit();
  }

  function showUnit() {
    const unit = text.querySelector(".mwl-unit");
    if (unit) text.scrollTop = unit.offsetTop - text.clientHeight / 5;
  }

  function drawReport() {
    const { cases, means } = model.get("report");
    const orders = Object.entries(means || {});
    if (!cases) { report.replaceChildren(h("span", { class: "mw-dim" }, "The report begins with the first confirmed case.")); return; }
    const metrics = Object.keys(orders[0][1]);
    report.replaceChildren(h("table", {}, h("caption", {}, `Report so far: ${cases} ready case${cases > 1 ? "s" : ""}`),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "order"), ...metrics.map((one) => h("th", { scope: "col" }, one)))),
      h("tbody", {}, ...orders.map(([name, figures]) => h("tr", {}, h("th", { scope: "row" }, name),
        ...metrics.map((one) => h("td", { style: `--share: ${figures[one]}` }, figures[one].toFixed(3))))))));
  }

  return drawn(model, { head: drawHead, queue: drawQueue, cards: drawCards, text: drawText, report: drawReport, heard: hears });
}

export default { render };
