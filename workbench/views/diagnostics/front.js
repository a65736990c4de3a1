// Draws what the kernel tells, and says what the person did. It decides nothing and keeps nothing but what is being
// typed.

const STATES = { running: "running", succeeded: "succeeded", failed: "failed", interrupted: "interrupted" };
const SIGNS = { running: "…", succeeded: "✓", failed: "✕", interrupted: "!" };
const CASES = { draft: "draft", ready: "ready", needs_evidence: "none matched" };
const COUNTED = { ready: "ready", needs_evidence: "none matched", draft: "draft", without: "without a case" };
const HEADS = { current: "✓ current", behind: "◐ behind", building: "… building", failed: "✕ failed", none: "○ not built", unknown: "? not compared" };
const TASKS = { benchmark: "Computing the report", export: "Exporting", clear: "Clearing the history" };
const COLUMNS = [
  ["final", "#", "place in the final order"], ["path", "candidate", "path of its source"],
  ["exact", "exact", "rank among exact names"], ["bm25", "words", "rank and score by words (BM25)"],
  ["vector", "vector", "rank and cosine by vectors"], ["rrf", "fused", "rank and score after fusion"],
  ["rerank", "rerank", "rank and score of the cross-encoder"], ["tokens", "tokens", "its length"],
  ["outcome", "became", "kept, or why it was dropped"],
];
const STAGES = new Set(["exact", "bm25", "vector", "rrf", "rerank"]);

const count = (number, noun) => `${number.toLocaleString()} ${noun}${number === 1 ? "" : "s"}`;
const ms = (value) => (value == null ? "" : value < 10 ? `${Number(value.toPrecision(2))} ms` : `${Math.round(value).toLocaleString()} ms`);
const words = (name) => name.replaceAll("_", " ");
const short = (digest) => digest.slice(0, 12);
const when = (text) => new Date(text).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
const time = (text) => h("time", { datetime: text, title: text }, when(text));
const figure = (one) => `${one.mean.toFixed(3)} [${one.low.toFixed(3)}, ${one.high.toFixed(3)}]`;
const facts = (pairs) => h("dl", { class: "mwd-facts" },
  ...pairs.filter(([, value]) => value != null && value !== "").flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
const bars = (label, rows, most) => h("table", { class: "mwd-bars", "aria-label": label }, h("tbody", {}, ...rows.map(([name, value, shown]) =>
  h("tr", {}, h("th", { scope: "row" }, name), h("td", { style: `--share: ${most ? value / most : 0}` }, h("span", {})), h("td", {}, shown)))));

function render({ model, el }) {
  // ---- parts that stand for good -------------------------------------------------------------------------------
  const lost = h("div", { class: "mw-lost", role: "alert", hidden: true },
    "The kernel does not answer. If it was restarted, run the cell again; runs and cases are stored, and nothing is lost.");
  const { say, hears } = connection(model, lost);
  const status = h("div", { class: "mw-status", role: "status", "aria-live": "polite" });
  const button = (name, does, kind = "", more = {}) => h("button", { class: `mw-button ${kind}`, onclick: does, ...more }, name);

  const project = h("select", { "aria-label": "Project" });
  const indexes = h("div", { class: "mwd-indexes" });
  const lookAgain = button("Look again", () => say("look"), "", { title: "Compare every index with its memory as it is now; nothing is built" });
  const cases = h("div", { class: "mwd-counts" });
  const caseBar = h("div", { class: "mwd-bar", role: "img" });
  const history = h("div", { class: "mwd-counts" });
  const clear = button("Clear history …", () => say("ask_to_clear"));

  const measure = button("Compute the report", () => say("measure"), "mw-main");
  const folder = h("input", { type: "text", "aria-label": "Folder of the export", placeholder: "a new folder" });
  const doExport = button("Export", () => say("export", { folder: folder.value }));
  const bar = h("progress", { "aria-label": "Progress" });
  const phase = h("span", { class: "mw-dim" });
  const stop = button("Stop", () => say("stop"));
  const task = h("div", { class: "mw-line mwd-task", hidden: true }, bar, phase, stop);
  const report = h("div", { class: "mw-report" });
  const saved = h("div", { class: "mwd-saved" });

  const end = h("select", { "aria-label": "Which runs" });
  const zero = h("input", { type: "checkbox" });
  const degraded = h("input", { type: "checkbox" });
  const zeroCount = h("span", {});
  const degradedCount = h("span", {});
  const runCount = h("span", { class: "mw-dim" });
  const newest = button("Newest", () => say("newest"), "", { title: "List the newest runs as they are now  Home" });
  const newer = button("‹", () => say("newer"), "", { title: "Newer runs  PgUp", "aria-label": "Newer runs" });
  const older = button("›", () => say("older"), "", { title: "Older runs  PgDn", "aria-label": "Older runs" });
  const runs = h("div", { class: "mw-list", role: "listbox", "aria-label": "Runs", tabindex: "0" });

  const query = h("h2", { class: "mw-query" });
  const chips = h("div", { class: "mwd-chips" });
  const troubles = h("ul", { class: "mwd-troubles" });
  const facet = h("div", { class: "mwd-facets" });
  const resource = h("input", { type: "search", "aria-label": "A resource by path, title or id", placeholder: "Why is this one (not) there? A path, title or id" });
  const ask = () => say("why", { resource: resource.value });
  const answer = h("p", { class: "mwd-answer", role: "status" });
  const heads = Object.fromEntries(COLUMNS.map(([column, name, means]) => [column, h("th", { scope: "col" },
    h("button", { title: `Sort by ${means}`, onclick: () => say("sort", { column }) }, name, h("span", { "aria-hidden": "true" })))]));
  const rows = h("table", { class: "mwd-candidates", "aria-label": "Candidates" }, h("thead", {}, h("tr", {}, ...Object.values(heads))));
  const found = h("p", { class: "mw-dim" });
  const sheet = h("div", { class: "mwd-sheet", role: "region", "aria-label": "Run", tabindex: "0" }, h("div", { class: "mwd-ask" }, query, chips), troubles, facet,
    h("div", { class: "mw-line mwd-why" }, resource, button("Why?", ask)), answer, found, rows);
  const nothing = h("p", { class: "mw-empty" }, "Choose a run to see its candidates.");

  const no = button("Keep them", () => say("keep"));
  const yes = button("Clear", () => say("clear"), "mwd-danger");
  const asked = h("div", { class: "mwd-asked", id: "mwd-asked" });
  const question = h("div", { class: "mw-over", role: "alertdialog", "aria-modal": "true", "aria-label": "Clear the history?", "aria-describedby": "mwd-asked", hidden: true },
    h("div", { class: "mw-dialog" }, h("h3", {}, "Clear the history?"), asked, h("div", { class: "mw-line" }, h("span", { class: "mw-gap" }), no, yes)));

  const card = (name, beside, ...inside) => h("section", { class: "mwd-card", "aria-label": name },
    h("div", { class: "mw-line" }, h("h3", { class: "mw-title" }, name), h("span", { class: "mw-gap" }), beside), ...inside);
  const root = h("div", { class: "mw mwd", role: "region", "aria-label": "Diagnostics", "data-lm-suppress-shortcuts": "true" },
    h("header", { class: "mw-line" }, h("b", {}, "Diagnostics"), h("span", { class: "mw-path" }, model.get("origin")), h("span", { class: "mw-gap" }), project),
    h("div", { class: "mwd-strip" }, card("Index", lookAgain, indexes), card("Cases and history", clear, caseBar, cases, history)),
    card("Benchmark and export", measure, report,
      h("div", { class: "mw-line" }, h("span", { class: "mw-dim" }, "Export the ready cases to"), folder, doExport), saved, task),
    h("div", { class: "mwd-said" }, status, lost),
    h("div", { class: "mwd-panes" },
      h("section", { class: "mwd-runs" },
        h("div", { class: "mw-line" }, h("h3", { class: "mw-title" }, "Runs"), runCount, h("span", { class: "mw-gap" }), newest, newer, older),
        h("div", { class: "mw-line mwd-filter" }, end, h("label", {}, zero, zeroCount), h("label", {}, degraded, degradedCount)), runs),
      h("section", { class: "mwd-run" }, sheet, nothing)),
    question);
  folder.value = model.get("export_to");
  el.append(root);

  // ---- what the person does ------------------------------------------------------------------------------------
  const chooseFilter = () => say("filter", { end: end.value, project: project.value, zero_hits: zero.checked, degraded: degraded.checked });
  for (const control of [end, project, zero, degraded]) control.addEventListener("change", chooseFilter);

  const LIST_KEYS = {
    ArrowDown: () => say("neighbour", { by: 1 }), ArrowUp: () => say("neighbour", { by: -1 }),
    j: () => say("neighbour", { by: 1 }), k: () => say("neighbour", { by: -1 }),
    PageDown: () => say("older"), PageUp: () => say("newer"), Home: () => say("newest"),
  };
  root.addEventListener("keydown", (event) => {
    event.stopPropagation();
    if (isForeign(event)) return;
    let command = null;
    if (!question.hidden) {
      if (event.key === "Escape") command = () => say("keep");
      if (event.key === "Tab") command = () => tabWithin(question, event.shiftKey);
    } else if (event.target === runs) command = LIST_KEYS[event.key];
    else if (event.target === resource && event.key === "Enter") command = ask;
    else if (event.target === folder && event.key === "Enter" && !doExport.disabled) command = () => doExport.click();
    if (!command) return;
    event.preventDefault();
    command();
  });
  resource.addEventListener("search", () => { if (!resource.value) ask(); });

  // ---- what the kernel tells -----------------------------------------------------------------------------------
  function drawHead() {
    const head = model.get("head");
    status.textContent = head.message;
    status.dataset.kind = head.bad ? "bad" : "";
    project.replaceChildren(h("option", { value: "" }, "all projects"), ...head.projects.map((one) => h("option", { value: one }, one)));
    project.value = head.project;
    project.hidden = head.projects.length < 2;
    end.replaceChildren(h("option", { value: "" }, `all (${head.counts.total.toLocaleString()})`),
      ...Object.entries(STATES).map(([value, name]) => h("option", { value }, `${name} (${head.counts[value].toLocaleString()})`)));
    end.value = head.filter.end;
    zero.checked = head.filter.zero_hits;
    zeroCount.textContent = `zero hits (${head.counts.zero_hits.toLocaleString()})`;
    degraded.checked = head.filter.degraded;
    degradedCount.textContent = `degraded (${head.counts.degraded.toLocaleString()})`;
    drawCounts(head);
    drawTask(head);
    drawSaved(head.saved);
    drawQuestion(head.question);
  }

  function drawCounts({ cases: counts, counts: all }) {
    const states = Object.entries(COUNTED);
    caseBar.replaceChildren(...states.map(([one]) => h("span", { "data-standing": one, style: `flex-grow: ${counts[one]}` })));
    cases.replaceChildren(...states.map(([one, name]) => h("span", { class: "mwd-count" }, h("i", { class: "mw-dot", "data-standing": one }), h("b", {}, counts[one].toLocaleString()), ` ${name}`)));
    caseBar.setAttribute("aria-label", states.map(([one, name]) => `${counts[one]} ${name}`).join(", "));
    const ends = Object.entries(STATES).filter(([one]) => all[one]).map(([one, name]) => `${all[one].toLocaleString()} ${name}`);
    history.textContent = all.total ? `${count(all.total, "run")}: ${ends.join(", ")}.` : "No run is stored yet: ask something, in a notebook or by `workbench activate`.";
  }

  function drawTask({ task: at }) {
    task.hidden = !at;
    for (const one of [measure, doExport, clear]) one.disabled = !!at;
    if (!at) return;
    if (at.total) { bar.max = at.total; bar.value = at.done; } else { bar.removeAttribute("value"); }
    phase.textContent = at.stopping ? "Stopping …" : `${TASKS[at.kind]}${at.phase ? `: ${at.phase}, ${at.done.toLocaleString()} of ${at.total.toLocaleString()}` : " …"}`;
    stop.hidden = at.kind === "clear";
    stop.disabled = at.stopping;
  }

  function drawSaved(files) {
    saved.replaceChildren(...(files ? [
      h("p", {}, h("b", {}, `In ${files.folder}`)), h("table", {}, h("tbody", {}, ...files.files.map((file) => h("tr", {},
        h("th", { scope: "row" }, file.path.split(/[\\/]/).pop()), h("td", {}, `${file.byte_size.toLocaleString()} bytes`),
        h("td", { class: "mw-path", title: `sha256 ${file.sha256}` }, `sha256 ${short(file.sha256)}…`))))),
      h("p", { class: "mw-path" }, `${count(files.cases, "case")}, digest ${files.set_digest}`),
      files.note ? h("p", {}, files.note) : null].filter(Boolean) : []));
  }

  function drawQuestion(seen) {
    const opening = seen && question.hidden;
    const closing = !seen && !question.hidden;
    question.hidden = !seen;
    if (seen) {
      const one = seen.projects.length > 1 ? `of ${seen.projects.length} projects` : `of ${seen.projects[0]}`;
      const kept = [seen.pinned && `${count(seen.pinned, "run")} with a case`, seen.running && `${count(seen.running, "run")} still under way`].filter(Boolean);
      asked.replaceChildren(h("p", {}, h("b", {}, `${count(seen.removable, "run")} ${one} will be removed for good.`)),
        h("p", {}, kept.length ? `What stays: ${kept.join(", and ")}.` : "No run has a case, so none stays."));
    }
    if (opening) no.focus();
    if (closing) clear.focus();
  }

  function drawIndexes() {
    const { rows: list, looking } = model.get("indexes");
    lookAgain.disabled = looking;
    lookAgain.textContent = looking ? "Looking …" : "Look again";
    lookAgain.hidden = !list.length;
    indexes.replaceChildren(...list.map((row) => h("div", { class: "mwd-index" },
      h("div", { class: "mw-line" }, h("span", { class: "mw-chip", "data-state": row.state }, HEADS[row.state]),
        h("span", { class: "mw-path" }, row.root)),
      h("p", {}, difference(row, looking)),
      row.problem ? h("p", { class: "mw-bad" }, row.problem) : null,
      row.unreadable.length ? h("details", {}, h("summary", {}, `${count(row.unreadable.length, "source")} cannot be read`),
        h("ul", {}, ...row.unreadable.map((one) => h("li", { class: "mw-path" }, one)))) : null,
      row.head ? facts([
        ["revision", h("span", {}, `${row.head.revision} `, h("span", { class: "mw-path", title: row.head.miv }, short(row.head.miv)))],
        ["memory", row.target_miv && row.target_miv !== row.head.miv ? h("span", { class: "mw-path", title: row.target_miv }, short(row.target_miv)) : null],
        ["holds", `${count(row.head.resources, "resource")}, ${count(row.head.units, "unit")}`],
        ["engine", `${row.head.engine || "none"} (${row.head.arms.join(", ")})`],
        ["built", time(row.head.created_at)]]) : null)));
    if (!list.length) indexes.append(h("p", { class: "mw-empty" }, "No memory folder is known for these runs; their history stands by itself."));
  }

  function difference(row, looking) {
    const { head } = row;
    if (!head) return `Nothing answers yet: run \`workbench index ${row.root}\`.`;
    const moved = [[row.new, "new"], [row.changed, "changed"], [row.removed, "removed"]].filter(([number]) => number).map(([number, what]) => `${number.toLocaleString()} ${what}`);
    const says = {
      current: "What answers is what the memory holds.",
      behind: !row.target_miv || row.target_miv === head.miv ? `It was built by ${head.engine || "no engine"}, and ${row.engine} is set now.`
        : moved.length ? `The memory has moved on: ${moved.join(", ")}.` : "The status of some resources has changed.",
      building: "A build is under way; the last revision answers meanwhile.",
      failed: "The last revision answers.",
      unknown: looking ? "The memory is being looked at." : "The memory has not been looked at.",
    };
    return says[row.state];
  }

  function drawReport() {
    const made = model.get("report");
    const orders = Object.entries(made.orders || {});
    measure.textContent = orders.length ? "Compute it again" : "Compute the report";
    if (!orders.length) { report.replaceChildren(h("p", { class: "mw-dim" }, "Four orders of every ready case, with intervals.")); return; }
    const metrics = Object.keys(orders[0][1]);
    report.replaceChildren(
      h("table", {}, h("caption", {}, `${count(made.cases, "ready case")} of ${made.origin}`),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "order"), ...metrics.map((one) => h("th", { scope: "col" }, one)))),
        h("tbody", {}, ...orders.map(([name, figures]) => h("tr", {}, h("th", { scope: "row" }, name),
          ...metrics.map((one) => h("td", { style: `--share: ${figures[one].mean}` }, figure(figures[one]))))))),
      h("p", {}, `Survival in the fragments ${figure(made.survival)}`, made.p50_ms == null ? "" : `; latency of the runs ${ms(made.p50_ms)} at p50, ${ms(made.p95_ms)} at p95`, "."),
      ...made.notes.map((one) => h("p", { class: "mwd-note" }, one.detail)),
      h("p", { class: "mw-path" }, `digest ${made.set_digest}`));
    if (made.ready_now !== made.cases) report.append(h("p", { class: "mw-bad" }, `${count(made.ready_now, "case")} ${made.ready_now === 1 ? "is" : "are"} ready now: compute it again.`));
  }

  function drawRuns() {
    const list = model.get("runs");
    const head = model.get("head");
    runCount.textContent = list.total ? `${list.first.toLocaleString()}–${(list.first + list.rows.length - 1).toLocaleString()} of ${list.total.toLocaleString()}` : "none";
    older.disabled = !list.more;
    newer.disabled = !list.newer;
    const several = head.projects.length > 1 && !head.project;
    runs.replaceChildren(...list.rows.map((row) => h("div", { class: "mw-row", role: "option", id: `mwd-${row.run}`, "data-run": row.run, "data-state": row.end,
      "aria-selected": String(row.run === list.open), title: row.query, onclick: () => { say("open", { run: row.run }); runs.focus(); } },
      h("span", { class: "mwd-sign", title: STATES[row.end], role: "img", "aria-label": STATES[row.end] }, SIGNS[row.end]),
      h("div", { class: "mwd-of" }, h("div", { class: "mw-line2" }, row.query),
        h("div", { class: "mwd-under" }, time(row.started_at), several ? h("span", {}, row.project) : null, ms(row.ms) ? h("span", {}, ms(row.ms)) : null,
          row.end === "succeeded" ? h("span", { title: "fragments that went out, of all candidates" }, row.candidates ? `${row.fragments} of ${row.candidates} kept` : "zero hits") : h("span", {}, row.error || STATES[row.end]),
          ...row.degradations.map((one) => h("span", { class: "mwd-mark" }, `⚠ ${words(one)}`)),
          row.case ? h("span", { class: "mw-chip", "data-standing": row.case }, CASES[row.case]) : null)))));
    if (!list.rows.length) runs.append(h("p", { class: "mw-empty" }, head.counts.total ? "No run is let through by this filter." : "No run is stored yet."));
    const open = runs.querySelector("[aria-selected=true]");
    if (open) { runs.setAttribute("aria-activedescendant", open.id); keepInSight(runs, open); } else { runs.removeAttribute("aria-activedescendant"); runs.scrollTop = 0; }
  }

  let shown = "";
  function drawRun() {
    const run = model.get("run");
    sheet.hidden = !run.run;
    nothing.hidden = !!run.run;
    if (!run.run) { shown = ""; return; }
    if (shown !== run.run) { shown = run.run; sheet.scrollTop = 0; resource.value = ""; }
    query.textContent = run.query;
    chips.replaceChildren(...[
      [run.state, "state"], [run.case ? `case: ${CASES[run.case]}` : "no case", "case"]].map(([text, kind]) =>
      h("span", { class: "mw-chip", "data-state": kind === "state" ? text : null, "data-standing": kind === "case" ? run.case : null }, text)),
      h("span", { class: "mw-dim" }, time(run.started_at), run.ms == null ? "" : ` · ${ms(run.ms)}`), h("span", { class: "mw-path", title: run.run }, short(run.run)));
    troubles.replaceChildren(...[
      run.error && h("li", { class: "mw-bad" }, `${words(run.error.code)} in ${words(run.error.stage)}: ${run.error.summary}`),
      ...run.degradations.map((one) => h("li", {}, h("b", {}, `⚠ ${words(one.code)}`), one.detail ? ` ${one.detail}` : ""))].filter(Boolean));
    drawFacets(run);
    answer.textContent = run.asked ? run.asked.sentence : "";
    drawCandidates(run);
  }

  function drawFacets(run) {
    const most = Math.max(0, ...run.stages.map(([, value]) => value));
    const { budget, index } = run;
    const spent = budget && h("div", {}, h("h4", {}, "Budget"),
      bars("Budget", [["tokens", budget.tokens, `${budget.tokens.toLocaleString()} of ${budget.budget_tokens.toLocaleString()}`]], budget.budget_tokens),
      bars("Budget of fragments", [["fragments", budget.fragments, `${budget.fragments} of ${budget.budget_fragments}`]], budget.budget_fragments),
      run.dropped.length ? h("p", { class: "mwd-small" }, `dropped: ${run.dropped.map(([why, number]) => `${number} ${words(why)}`).join(", ")}`) : null,
      run.fused_out ? h("p", { class: "mwd-small" }, `${count(run.fused_out, "unit")} recalled, and not kept by fusion`) : null);
    const answered = index && h("div", {}, h("h4", {}, "What answered"), facts([
      ["revision", h("span", {}, `${index.revision} `, h("span", { class: "mw-path", title: index.miv }, short(index.miv)))],
      ["engine", `${index.engine || "none"} (${index.arms.join(", ")})`], ["order", run.ordering],
      ["corpus", run.corpus_size ? count(run.corpus_size, "resource") : "not recorded"],
      ["scopes", run.scopes ? run.scopes.join(", ") : null],
      ["freshness", index.building_miv ? "a newer revision was being built" : index.stale ? "the memory was newer already" : null]]));
    facet.replaceChildren(...[
      run.stages.length ? h("div", {}, h("h4", {}, "Stages"), bars("Stage times", run.stages.map(([name, value]) => [name, value, ms(value)]), most)) : null,
      spent || answered ? h("div", { class: "mwd-beside" }, ...[spent, answered].filter(Boolean)) : null].filter(Boolean));
  }

  function drawCandidates(run) {
    found.textContent = run.candidates.length ? count(run.candidates.length, "candidate")
      : run.state === "succeeded" ? "No arm recalled anything." : "A run that did not succeed has no candidates.";
    rows.hidden = !run.candidates.length;
    for (const [column, head] of Object.entries(heads)) {
      const by = column === run.sort;
      head.setAttribute("aria-sort", by ? (run.descending ? "descending" : "ascending") : "none");
      head.querySelector("span").textContent = by ? (run.descending ? " ▼" : " ▲") : "";
    }
    const rank = ([place, value]) => h("td", {}, place == null ? h("span", { class: "mw-dim" }, "–") : h("b", {}, String(place)), value == null ? null : h("i", {}, score(value)));
    rows.querySelectorAll("tbody").forEach((body) => body.remove());
    rows.append(...run.candidates.map((one) => h("tbody", { "data-outcome": one.outcome, "data-asked": String(one.asked) },
      h("tr", {}, ...COLUMNS.map(([column]) => {
        if (STAGES.has(column)) return rank(one[column]);
        if (column === "path") return h("th", { scope: "row", class: "mw-path", title: one.path }, one.path);
        if (column === "outcome") return h("td", {}, h("span", { class: "mwd-outcome" }, words(one.outcome)), one.delta && one.delta !== "add" ? h("i", {}, one.delta) : null);
        return h("td", {}, String(one[column]));
      })),
      h("tr", {}, h("td", {}), h("td", { colspan: COLUMNS.length - 1 }, h("div", { class: "mwd-excerpt" }, one.heading ? h("b", {}, `${one.heading}  `) : null, one.excerpt))))));
  }

  return drawn(model, { head: () => { drawHead(); drawRuns(); }, runs: drawRuns, run: drawRun, indexes: drawIndexes, report: drawReport, heard: hears });
}

export default { render };
