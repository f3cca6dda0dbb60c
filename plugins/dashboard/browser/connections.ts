import type { ConnectionsView, ConnectionView } from "../api/views.ts";
import { startDesk } from "./desk.ts";
import { button, el, live, setLive, setText, show } from "./dom.ts";
import { formatBytes, formatCount } from "../ui/text/format.ts";
import { askOwner, load } from "./owner.ts";
import { cell, keepRows, type Row } from "./rows.ts";
import { startStream } from "./stream.ts";
import { setTime, timeAgo } from "./times.ts";
import { browserLabel, methodLabel } from "../ui/text/labels.ts";

const pageSize = 100;
const filter = document.querySelector<HTMLInputElement>("#filter")!;
const showRows = keepRows(live("rows")!, (connection: ConnectionView) => connection.id, row);
let offset = 0;
let total = 0;

startDesk();
const refresh = () => {
  const query = new URLSearchParams({
    offset: String(offset),
    limit: String(pageSize),
    text: filter.value.trim(),
  });
  return load<ConnectionsView>(`/api/connections?${query}`, showPage);
};
const { look } = startStream({
  refresh,
  news: ["connected", "disconnected", "rate"],
  on: {
    rate: (rate) => {
      setLive("connections", formatCount(rate.connections));
      setLive("rate-in", formatCount(rate.in));
      setLive("rate-out", formatCount(rate.out));
      setLive("queued", formatBytes(rate.queuedBytes));
    },
  },
});

filter.addEventListener("input", () => {
  offset = 0;
  void look();
});
for (const step of document.querySelectorAll<HTMLButtonElement>("[data-page]")) {
  step.addEventListener("click", () => {
    offset = Math.max(0, offset + Number(step.dataset["page"]) * pageSize);
    void look();
  });
}

function showPage(view: ConnectionsView): void {
  ({ total } = view);
  if (offset > 0 && view.connections.length === 0) {
    offset = Math.floor(Math.max(0, total - 1) / pageSize) * pageSize; // the last page went away
    return void look();
  }
  const filtered = filter.value.trim() !== "";
  if (!filtered) setLive("connections", formatCount(total));
  showRows(view.connections);
  show(live("none"), total === 0);
  setLive("none", filtered ? "No connection fits the filter." : "Nobody is connected.");
  const end = offset + view.connections.length;
  setLive(
    "range",
    total > 0 ? `${formatCount(offset + 1)} to ${formatCount(end)} of ${formatCount(total)}` : "",
  );
  turn(-1, offset > 0, end < total);
  turn(1, end < total, offset > 0);
}

/** A list that fits one page has nothing to turn. */
function turn(by: -1 | 1, isPossible: boolean, isOther: boolean): void {
  const made = document.querySelector<HTMLButtonElement>(`[data-page="${by}"]`)!;
  made.disabled = !isPossible;
  show(made, isPossible || isOther);
}

function row(first: ConnectionView): Row<ConnectionView> {
  const since = timeAgo(first.since);
  const heard = timeAgo();
  const [received, sent, queued] = [el("span"), el("span"), el("span")];
  const agent = first.userAgent === undefined ? "" : browserLabel(first.userAgent);
  const from = el(
    "div",
    {},
    el("span", { class: "mono" }, first.address),
    first.origin !== undefined && el("small", {}, first.origin),
    agent !== "" && el("small", { title: first.userAgent }, agent),
  );
  const end = button("Disconnect", "quiet small danger", () => disconnect(first));
  end.setAttribute("aria-label", `Disconnect ${first.session}`);
  const element = el(
    "tr",
    { role: "row" },
    cell("Session", el("span", { class: "mono", title: `connection ${first.id}` }, first.session)),
    cell("From", from),
    cell("Way in", el("span", {}, methodLabel(first.method)), "nowrap"),
    cell("Since", since, "nowrap"),
    cell("In", received, "num"),
    cell("Out", sent, "num"),
    cell("Queued", queued, "num"),
    cell("Last heard", heard, "nowrap"),
    cell("", end, "act"),
  );
  const update = (connection: ConnectionView): void => {
    setText(received, formatCount(connection.messagesIn));
    setText(sent, formatCount(connection.messagesOut));
    setText(queued, formatBytes(connection.queuedBytes));
    setTime(heard, connection.lastHeardAt);
  };
  return { element, update };
}

async function disconnect({ id, session }: ConnectionView): Promise<void> {
  const answer = await askOwner("DELETE", `/api/connections/${encodeURIComponent(id)}`);
  const gone = "refused" in answer && answer.refused.status === 404;
  setLive(
    "said",
    !("refused" in answer)
      ? `Disconnected ${session}. Its client is told not to come back by itself.`
      : gone
        ? `${session} had left already.`
        : answer.refused.message,
  );
  await refresh();
}
