// Updates the list of rejected connections on the overview.
import type { ChannelView, RejectionView } from "../api/views.ts";
import { el, live, setRows, show } from "./dom.ts";
import { rejectionDetail, rejectionTitle, uniqueFixes } from "../ui/text/rejections.ts";
import { now, timeAgo } from "./times.ts";
import { blockedLabel } from "../ui/text/labels.ts";

/** Updates the list. `pages/overview-refused.ts` renders the same rows. */
export function showRejections({ refusals }: ChannelView): void {
  const fixes = uniqueFixes(refusals);
  setRows(live("refused-clients"), refusals, () =>
    refusals.map((rejection, index) => row(rejection, fixes[index])),
  );
  show(live("refused"), refusals.length > 0);
}

function row(rejection: RejectionView, fix: string | undefined): HTMLElement {
  const { at, until } = rejection;
  return el(
    "li",
    {},
    el("span", {}, rejectionTitle(rejection)),
    timeAgo(at),
    el("small", {}, rejectionDetail(rejection)),
    until !== undefined &&
      el("p", { class: "blocked", "data-until": until }, blockedLabel(until, now())),
    fix !== undefined && el("p", { class: "fix" }, fix),
  );
}
