import type { ChannelView, RefusalView } from "../status.ts";
import { el, live, setRows, show } from "./dom.ts";
import { clientRefusalDetail, clientRefusalTitle, fixOnce } from "./refusal-words.ts";
import { now, timeAgo } from "./times.ts";
import { blockedWords } from "./words.ts";

/** Brings the list of refused clients up to date; rows look as `pages/overview-refused.ts` draws them. */
export function showRefused({ refusals }: ChannelView): void {
  const fixes = fixOnce(refusals);
  setRows(live("refused-clients"), refusals, () =>
    refusals.map((refusal, at) => row(refusal, fixes[at])),
  );
  show(live("refused"), refusals.length > 0);
}

function row(refusal: RefusalView, fix: string | undefined): HTMLElement {
  const { at, until } = refusal;
  return el(
    "li",
    {},
    el("span", {}, clientRefusalTitle(refusal)),
    timeAgo(at),
    el("small", {}, clientRefusalDetail(refusal)),
    until !== undefined &&
      el("p", { class: "blocked", "data-until": until }, blockedWords(until, now())),
    fix !== undefined && el("p", { class: "fix" }, fix),
  );
}
