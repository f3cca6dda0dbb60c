import type { LogLineView, LogView } from "../api/views.ts";
import { startDesk } from "./desk.ts";
import { el, live, setLive, setText, show } from "./dom.ts";
import { formatCount } from "../ui/text/format.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";
import { twoWays } from "./two-ways.ts";

const limit = 1000;
/** The page is "at the newest line" when no more than this many pixels are below. */
const slack = 40;
const list = live("lines")!;
const level = document.querySelector<HTMLSelectElement>("#level")!;
const text = document.querySelector<HTMLInputElement>("#text")!;
const pause = document.querySelector<HTMLButtonElement>("[data-pause]")!;
const jump = document.querySelector<HTMLButtonElement>("[data-jump]")!;

/** Not drawn yet: one drawing a frame, however fast lines come. */
let waiting: Node[] = [];
let isPaused = false;
let isScheduled = false;
let skipped = 0;
/** A line may come by the stream before an answer that has it, and the other way round. */
const ways = twoWays<LogLineView>(limit);
let shownQuery = "";
/** Something was left out while it was paused: what is there is loaded when it goes on. */
let isBehind = false;

startDesk();
const refresh = async () => {
  const query = String(
    new URLSearchParams({ level: level.value, text: text.value.trim(), limit: String(limit) }),
  );
  const asked = ways.asked();
  const refused = await load<LogView>(`/api/log?${query}`, ({ lines }) => {
    isBehind = isPaused && query === shownQuery;
    if (isBehind) return;
    const follow = query !== shownQuery || isAtNewest();
    shownQuery = query;
    waiting = [];
    const later = ways.answered(asked, lines).filter(fits);
    list.replaceChildren(...[...lines, ...later].slice(-limit).map(line));
    skipped = 0;
    setLive("sampled", "");
    if (follow) toNewest();
    showCount();
  });
  setLive("problem", refused === undefined || refused.status === 401 ? "" : refused.message);
  return refused;
};
const stream = startStream({
  refresh,
  query: () => ({ log: level.value }),
  on: {
    missed: () => undefined, // other events than lines
    log: (entry) => ways.isNew(entry) && fits(entry) && add(line(entry)),
    "log-skipped": ({ count: n }) => {
      skipped += n;
      setLive(
        "sampled",
        `${formatCount(skipped)} lines were too many to show; the download has them all.`,
      );
      add(
        el(
          "li",
          { class: "gap" },
          `${formatCount(n)} lines left out: at most 50 a second are shown`,
        ),
      );
    },
  },
});

level.addEventListener("change", () => stream.reopen());
let typing: ReturnType<typeof setTimeout> | undefined;
text.addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void stream.look(), 200);
});
pause.addEventListener("click", () => {
  isPaused = !isPaused;
  pause.setAttribute("aria-pressed", String(isPaused));
  setText(pause, isPaused ? "Continue" : "Pause");
  if (isBehind) void stream.look();
  else if (!isPaused) schedule();
  showCount();
});
jump.addEventListener("click", toNewest);
list.addEventListener("scroll", () => show(jump, !isAtNewest()));

function fits({ level: name, text: words, fields }: LogLineView): boolean {
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
  const lines = formatCount(list.childElementCount);
  const more = list.childElementCount >= limit ? ", the newest" : "";
  const held = isPaused ? `, paused with ${formatCount(waiting.length)} new` : "";
  setLive("shown", `${lines} ${lines === "1" ? "line" : "lines"}${more}${held}`);
}

function isAtNewest(): boolean {
  return list.scrollHeight - list.scrollTop - list.clientHeight <= slack;
}

function toNewest(): void {
  list.scrollTop = list.scrollHeight;
  show(jump, false);
}
