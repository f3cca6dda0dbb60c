import type { RefusalView, SignInView, StatusView } from "../status.ts";
import { live, make, setRows, setText } from "./dom.ts";
import { ago } from "./format.ts";
import { refusalWords, viaWords } from "./words.ts";

/** Brings both lists up to date; rows look as `pages/overview-activity.ts` draws them. */
export function showActivity({ signIns, refusals }: StatusView): void {
  showList("sign-ins", signIns, (s: SignInView) => row(viaWords(s.via), s.address, s.at));
  showList("refusals", refusals, ({ code, via, address, at }: RefusalView) =>
    row(refusalWords(code), `${viaWords(via)} · ${address}`, at),
  );
}

/** Relative times grow old by themselves; the exact one, in the reader's zone, is in the title. */
export function refreshTimes(now: number): void {
  for (const time of document.querySelectorAll<HTMLTimeElement>(".activity time")) {
    const at = Date.parse(time.dateTime);
    setText(time, ago(at, now));
    time.title = new Date(at).toLocaleString();
  }
}

function showList<T>(name: string, entries: readonly T[], draw: (entry: T) => Node): void {
  setRows(live(name), entries, () => entries.map(draw));
  const none = live(`no-${name}`);
  if (none) none.hidden = entries.length > 0;
}

function row(title: string, detail: string, at: number): Node {
  const time = document.createElement("time");
  time.dateTime = new Date(at).toISOString();
  return make("li", "", make("span", title), time, make("small", detail));
}
