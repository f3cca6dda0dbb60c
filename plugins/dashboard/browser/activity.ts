// Updates the lists of recent and failed sign-ins.
import type { RejectionView, SignInView, StatusView } from "../api/views.ts";
import { live, make, setRows, show } from "./dom.ts";
import { timeAgo } from "./times.ts";
import { failedSignInLabel, timesLabel, signInMethodLabel } from "../ui/text/labels.ts";

/** Updates both lists. `pages/overview-activity.ts` renders the same rows. */
export function showActivity({ signIns, refusals }: StatusView): void {
  showList("sign-ins", signIns, ({ via, address, at }: SignInView) =>
    row(signInMethodLabel(via), address, at),
  );
  showList("refusals", refusals, ({ code, via, address, times, at }: RejectionView) =>
    row(failedSignInLabel(code), `${signInMethodLabel(via)} · ${address}${timesLabel(times)}`, at),
  );
}

function showList<T>(name: string, entries: readonly T[], draw: (entry: T) => Node): void {
  setRows(live(name), entries, () => entries.map(draw));
  show(live(`no-${name}`), entries.length === 0);
}

function row(title: string, detail: string, at: number): Node {
  return make("li", "", make("span", title), timeAgo(at), make("small", detail));
}
