/** The page "Sessions": the signed-in browsers, and how to sign them out. @module */
import type { SessionsView, SessionView } from "../api/views.ts";
import { forgetNames } from "./chat-names.ts";
import { startDesk } from "./desk.ts";
import { base, button, el, live, onClick, setLive } from "./dom.ts";
import { askOwner, load } from "./owner.ts";
import { cell, keepRows, type Row } from "./rows.ts";
import { askForToken } from "./secret-form.ts";
import { expectEnd, leave, startStream } from "./stream.ts";
import { setTime, timeAgo } from "./times.ts";
import { browserLabel } from "../ui/text/labels.ts";

const others = document.querySelector<HTMLButtonElement>("[data-end-others]")!;
const showRows = keepRows(live("rows")!, (session: SessionView) => session.id, row);

startDesk();
const refresh = () =>
  load<SessionsView>("/api/sessions", ({ sessions }) => {
    showRows(sessions);
    others.disabled = sessions.every(({ current }) => current);
  });
startStream({ refresh, news: ["signed-in", "signed-out", "rate"] }); // when each was used is no event

onClick(others, async () => {
  const answer = await askForToken({
    title: "Sign out all other browsers",
    text: "Only this browser stays signed in.",
    action: "Sign out others",
    send: (current) => askOwner<{ ended: number }>("DELETE", "/api/sessions", { current }),
  });
  if (!answer || "refused" in answer) return;
  const { ended } = answer.body;
  setLive(
    "said",
    ended === 1 ? "One other browser was signed out." : `${ended} other browsers were signed out.`,
  );
  await refresh();
});

function row(first: SessionView): Row<SessionView> {
  const used = timeAgo();
  const name = browserLabel(first.userAgent) || "unnamed";
  const browser = el(
    "div",
    {},
    el("span", { title: first.userAgent }, name),
    first.current && el("small", {}, el("span", { class: "badge ok" }, "this browser")),
    first.maker !== undefined && el("small", {}, "through a sign-in link"),
  );
  const signsOut = button("Sign out", "quiet small danger", () =>
    first.current ? signOutHere(first.id) : signOutOther(first.id, name),
  );
  signsOut.setAttribute("aria-label", `Sign out ${name}, ${first.address}`);
  const end = new Date(first.expiresAt);
  const ends = el(
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
    cell("Ends", ends, "nowrap"),
    cell("", signsOut, "act"),
  );
  return { element, update: (session) => setTime(used, session.lastUsedAt) };
}

async function signOutHere(id: string): Promise<void> {
  const request = askOwner("DELETE", `/api/sessions/${id}`);
  const left = request.then((answer) => {
    if ("refused" in answer) return undefined;
    forgetNames();
    return leave(() => location.assign(`${base}/login`));
  });
  expectEnd(left);
  const answer = await request;
  await left;
  if ("refused" in answer) setLive("said", answer.refused.message);
  await refresh();
}

async function signOutOther(id: string, name: string): Promise<void> {
  const answer = await askForToken({
    title: `Sign out ${name}`,
    text: "Browsers that signed in through its links are signed out too.",
    action: "Sign out",
    send: (current) => askOwner("DELETE", `/api/sessions/${id}`, { current }),
    endsOn: ({ status }) => status === 404,
  });
  if (!answer) return;
  setLive("said", "refused" in answer ? answer.refused.message : `${name} was signed out.`);
  await refresh();
}
