// Connections page: lists open connections and disconnects clients.
import type { ConnectionsView, ConnectionView } from "../api/views.ts";
import { startPage } from "./page.ts";
import { button, el, live, setLive, setText, show } from "./dom.ts";
import { formatBytes, formatCount } from "../ui/text/format.ts";
import { requestAsOwner, load } from "./owner.ts";
import { cell, keepRows, type Row } from "./rows.ts";
import { startStream } from "./stream.ts";
import { setTime, timeAgo } from "./times.ts";
import { browserLabel, methodLabel } from "../ui/text/labels.ts";

const pageSize = 100;
const filter = document.querySelector<HTMLInputElement>("#filter")!;
const showRows = keepRows(live("rows")!, (connection: ConnectionView) => connection.id, row);
let offset = 0;
let total = 0;

startPage();
const refresh = () => {
  const query = new URLSearchParams({
    offset: String(offset),
    limit: String(pageSize),
    text: filter.value.trim(),
  });
  return load<ConnectionsView>(`/api/connections?${query}`, showPage);
};
const stream = startStream({
  refresh,
  refreshOn: ["connected", "disconnected", "rate"],
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
  void stream.refresh();
});
for (const step of document.querySelectorAll<HTMLButtonElement>("[data-page]")) {
  step.addEventListener("click", () => {
    offset = Math.max(0, offset + Number(step.dataset["page"]) * pageSize);
    void stream.refresh();
  });
}

function showPage(view: ConnectionsView): void {
  ({ total } = view);
  if (offset > 0 && view.connections.length === 0) {
    // The shown page no longer exists.
    offset = Math.floor(Math.max(0, total - 1) / pageSize) * pageSize;
    return void stream.refresh();
  }
  const filtered = filter.value.trim() !== "";
  if (!filtered) setLive("connections", formatCount(total));
  showRows(view.connections);
  show(live("none"), total === 0);
  setLive("none", filtered ? "No matching connections." : "No clients are connected.");
  const end = offset + view.connections.length;
  setLive(
    "range",
    total > 0 ? `${formatCount(offset + 1)} to ${formatCount(end)} of ${formatCount(total)}` : "",
  );
  updatePageButton(-1, offset > 0, end < total);
  updatePageButton(1, end < total, offset > 0);
}

/** Hides both buttons if all connections fit on one page. */
function updatePageButton(step: -1 | 1, isEnabled: boolean, isOtherEnabled: boolean): void {
  const pageButton = document.querySelector<HTMLButtonElement>(`[data-page="${step}"]`)!;
  pageButton.disabled = !isEnabled;
  show(pageButton, isEnabled || isOtherEnabled);
}

function row(first: ConnectionView): Row<ConnectionView> {
  const since = timeAgo(first.since);
  const lastActive = timeAgo();
  const [received, sent, queued] = [el("span"), el("span"), el("span")];
  const agent = first.userAgent === undefined ? "" : browserLabel(first.userAgent);
  const client = el(
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
    cell("Client", client),
    cell("Authentication", authentication(first), "nowrap"),
    cell("Connected", since, "nowrap"),
    cell("In", received, "num"),
    cell("Out", sent, "num"),
    cell("Queued", queued, "num"),
    cell("Last active", lastActive, "nowrap"),
    cell("", end, "act"),
  );
  const update = (connection: ConnectionView): void => {
    setText(received, formatCount(connection.messagesIn));
    setText(sent, formatCount(connection.messagesOut));
    setText(queued, formatBytes(connection.queuedBytes));
    setTime(lastActive, connection.lastHeardAt);
  };
  return { element, update };
}

/** The method, and the person if a host identified one. */
function authentication({ method, user, userName }: ConnectionView): HTMLElement {
  const person = /^host:(.*)$/s.exec(user)?.[1];
  return el(
    "div",
    {},
    el("span", {}, methodLabel(method)),
    person !== undefined && el("small", { title: user }, userName ?? person),
  );
}

async function disconnect({ id, session }: ConnectionView): Promise<void> {
  const answer = await requestAsOwner("DELETE", `/api/connections/${encodeURIComponent(id)}`);
  const wasClosed = "error" in answer && answer.error.status === 404;
  setLive(
    "said",
    !("error" in answer)
      ? `Disconnected ${session}. The server asked the client not to reconnect.`
      : wasClosed
        ? `${session} was already disconnected.`
        : answer.error.message,
  );
  await refresh();
}
