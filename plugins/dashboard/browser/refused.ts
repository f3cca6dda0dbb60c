import type { ChannelView, RejectionView } from "../api/views.ts";
import { el, live, setRows, show } from "./dom.ts";
import { rejectionDetail, rejectionTitle, uniqueFixes } from "../ui/text/rejections.ts";
import { now, timeAgo } from "./times.ts";
import { blockedLabel } from "../ui/text/labels.ts";

/** Brings the list of refused clients up to date; rows look as `pages/overview-refused.ts` draws them. */
export function showRefused({ refusals }: ChannelView): void {
  const fixes = uniqueFixes(refusals);
  setRows(live("refused-clients"), refusals, () =>
    refusals.map((refusal, at) => row(refusal, fixes[at])),
  );
  show(live("refused"), refusals.length > 0);
}

function row(refusal: RejectionView, fix: string | undefined): HTMLElement {
  const { at, until } = refusal;
  return el(
    "li",
    {},
    el("span", {}, rejectionTitle(refusal)),
    timeAgo(at),
    el("small", {}, rejectionDetail(refusal)),
    until !== undefined &&
      el("p", { class: "blocked", "data-until": until }, blockedLabel(until, now())),
    fix !== undefined && el("p", { class: "fix" }, fix),
  );
}
