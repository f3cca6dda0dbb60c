// Log page: shows the newest log lines as they arrive.
import type { LogLineView, LogView } from "../api/views.ts";
import { startPage } from "./page.ts";
import { el, live, setLive, setText, show } from "./dom.ts";
import { formatCount } from "../ui/text/format.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";
import { mergeSources } from "./merge-sources.ts";

const limit = 1000;
/** The list counts as scrolled to the end within this many pixels. */
const scrollTolerancePx = 40;
const list = live("lines")!;
const level = document.querySelector<HTMLSelectElement>("#level")!;
const text = document.querySelector<HTMLInputElement>("#text")!;
const pause = document.querySelector<HTMLButtonElement>("[data-pause]")!;
const jump = document.querySelector<HTMLButtonElement>("[data-jump]")!;

/** Lines to append with the next animation frame. */
let waiting: Node[] = [];
let isPaused = false;
let isScheduled = false;
let skipped = 0;
/** Merges streamed lines with loaded ones, since both can contain the same line. */
const lines = mergeSources<LogLineView>(limit);
let shownQuery = "";
/** True if the page skipped lines while paused, so it reloads them when it continues. */
let isBehind = false;

startPage();
const refresh = async () => {
  const query = String(
    new URLSearchParams({ level: level.value, text: text.value.trim(), limit: String(limit) }),
  );
  const position = lines.beginRequest();
  const error = await load<LogView>(`/api/log?${query}`, (view) => {
    isBehind = isPaused && query === shownQuery;
    if (isBehind) return;
    const follow = query !== shownQuery || isAtNewest();
    shownQuery = query;
    waiting = [];
    const later = lines.mergeResponse(position, view.lines).filter(matchesFilter);
    list.replaceChildren(...[...view.lines, ...later].slice(-limit).map(line));
    skipped = 0;
    setLive("sampled", "");
    if (follow) toNewest();
    showCount();
  });
  setLive("problem", error === undefined || error.status === 401 ? "" : error.message);
  return error;
};
const stream = startStream({
  refresh,
  query: () => ({ log: level.value }),
  on: {
    missed: () => undefined, // skipped events do not include log lines
    log: (entry) => lines.acceptStreamed(entry) && matchesFilter(entry) && add(line(entry)),
    "log-skipped": ({ count: n }) => {
      skipped += n;
      setLive(
        "sampled",
        `${formatCount(skipped)} lines not shown. The download contains all lines.`,
      );
      add(
        el("li", { class: "gap" }, `${formatCount(n)} lines skipped (limit: 50 lines per second)`),
      );
    },
  },
});

level.addEventListener("change", () => stream.reopen());
let typing: ReturnType<typeof setTimeout> | undefined;
text.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void stream.refresh(), 200);
});
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  setText(pause, isPaused ? "Continue" : "Pause");
  if (isBehind) void stream.refresh();
  else if (!isPaused) schedule();
  showCount();
});
jump.addEventListener("click", toNewest);
list.addEventListener("scroll", () => show(jump, !isAtNewest()));

function matchesFilter({ level: name, text: words, fields }: LogLineView): boolean {
  const rank = (value: string): number =>
    [...level.options].findIndex((option) => option.value === value);
  if (rank(name) < rank(level.value)) return false;
  const wanted = text.value.trim().toLowerCase();
  return wanted === "" || `${words} ${JSON.stringify(fields)}`.toLowerCase().includes(wanted);
}

function add(node: Node): void {
  waiting.push(node);
  if (waiting.length > limit) waiting.splice(0, waiting.length - limit);
  schedule();
}

function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    if (isPaused) return showCount();
    const follow = isAtNewest();
    const before = list.scrollHeight;
    list.append(...waiting);
    waiting = [];
    while (list.childElementCount > limit) list.firstElementChild!.remove();
    if (follow) toNewest();
    else if (list.childElementCount === limit)
      list.scrollTop += Math.min(0, list.scrollHeight - before);
    show(jump, !follow);
    showCount();
  });
}

function line({ at, level: name, text: words, fields }: LogLineView): HTMLElement {
  const time = new Date(at);
  const stamp = el(
    "time",
    { datetime: time.toISOString(), title: time.toLocaleString() },
    time.toLocaleTimeString([], { hour12: false }),
  );
  const plain = (value: unknown): string =>
    typeof value === "string" ? value : JSON.stringify(value);
  const rest = Object.entries(fields).map(([key, value]) => `${key}=${plain(value)}`);
  return el(
    "li",
    { class: name },
    stamp,
    el("b", {}, name),
    el(
      "span",
      {},
      words,
      rest.length > 0 && " ",
      rest.length > 0 && el("small", {}, rest.join("  ")),
    ),
  );
}

function showCount(): void {
  const count = formatCount(list.childElementCount);
  const newest = list.childElementCount >= limit ? "newest " : "";
  const paused = isPaused ? ` · paused, ${formatCount(waiting.length)} new` : "";
  setLive("shown", `${count} ${newest}${count === "1" ? "line" : "lines"}${paused}`);
}

function isAtNewest(): boolean {
  return list.scrollHeight - list.scrollTop - list.clientHeight <= scrollTolerancePx;
}

function toNewest(): void {
  list.scrollTop = list.scrollHeight;
  show(jump, false);
}
