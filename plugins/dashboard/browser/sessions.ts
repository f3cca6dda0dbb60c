// Page of signed-in browsers: lists them and signs them out.
import type { SessionsView, SessionView } from "../api/views.ts";
import { forgetChat } from "../ui/chat/state/forget.ts";
import { startPage } from "./page.ts";
import { base, button, el, live, onClick, setLive } from "./dom.ts";
import { requestAsOwner, load } from "./owner.ts";
import { cell, keepRows, type Row } from "./rows.ts";
import { askForToken } from "./secret-form.ts";
import { expectSessionEnd, leavePage, startStream } from "./stream.ts";
import { setTime, timeAgo } from "./times.ts";
import { browserLabel } from "../ui/text/labels.ts";

const others = document.querySelector<HTMLButtonElement>("[data-end-others]")!;
const showRows = keepRows(live("rows")!, (session: SessionView) => session.id, row);

startPage();
const refresh = () =>
  load<SessionsView>("/api/sessions", ({ sessions }) => {
    showRows(sessions);
    others.disabled = sessions.every(({ current }) => current);
  });
// No event reports the last use of a sign-in, so the page also refreshes with every `rate` event.
startStream({ refresh, refreshOn: ["signed-in", "signed-out", "rate"] });

onClick(others, async () => {
  const answer = await askForToken({
    title: "Sign out all other browsers",
    text: "Only this browser stays signed in.",
    action: "Sign out others",
    send: (current) => requestAsOwner<{ ended: number }>("DELETE", "/api/sessions", { current }),
  });
  if (!answer || "error" in answer) return;
  const { ended } = answer.body;
  setLive(
    "said",
    ended === 1 ? "Signed out 1 other browser." : `Signed out ${ended} other browsers.`,
  );
  await refresh();
});

function row(first: SessionView): Row<SessionView> {
  const used = timeAgo();
  const name = browserLabel(first.userAgent) || "Unknown browser";
  const browser = el(
    "div",
    {},
    el("span", { title: first.userAgent }, name),
    first.current && el("small", {}, el("span", { class: "badge ok" }, "this browser")),
    first.maker !== undefined && el("small", {}, "by sign-in link"),
  );
  const signOut = button("Sign out", "quiet small danger", () =>
    first.current ? signOutHere(first.id) : signOutOther(first.id, name),
  );
  signOut.setAttribute("aria-label", `Sign out ${name}, ${first.address}`);
  const end = new Date(first.expiresAt);
  const expires = el(
    "time",
    { datetime: end.toISOString(), title: end.toLocaleString() },
    end.toLocaleDateString(),
  );
  const element = el(
    "tr",
    { role: "row" },
    cell("Browser", browser),
    cell("Address", el("span", { class: "mono" }, first.address)),
    cell("Signed in", timeAgo(first.createdAt), "nowrap"),
    cell("Last used", used, "nowrap"),
    cell("Expires", expires, "nowrap"),
    cell("", signOut, "act"),
  );
  return { element, update: (session) => setTime(used, session.lastUsedAt) };
}

async function signOutHere(id: string): Promise<void> {
  const request = requestAsOwner("DELETE", `/api/sessions/${id}`);
  const left = request.then((answer) => {
    if ("error" in answer) return undefined;
    forgetChat();
    return leavePage(() => location.assign(`${base}/login`));
  });
  expectSessionEnd(left);
  const answer = await request;
  await left;
  if ("error" in answer) setLive("said", answer.error.message);
  await refresh();
}

async function signOutOther(id: string, name: string): Promise<void> {
  const answer = await askForToken({
    title: `Sign out ${name}`,
    text: "This also signs out browsers that used its sign-in links.",
    action: "Sign out",
    send: (current) => requestAsOwner("DELETE", `/api/sessions/${id}`, { current }),
    endsOn: ({ status }) => status === 404,
  });
  if (!answer) return;
  setLive("said", "error" in answer ? answer.error.message : `Signed out ${name}.`);
  await refresh();
}
