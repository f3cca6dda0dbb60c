import type { Client, LinkChange, LinkError } from "../../../lib/pico-link/browser.ts";
import type { ServerFrame } from "../../../lib/pico-wire/index.ts";
import type { ConnectionsView } from "../api/views.ts";
import { openLink } from "./chat-link.ts";
import { isName, knownNames, newName, remember } from "./chat-names.ts";
import { choosePictures } from "./chat-pictures.ts";
import { transcript, type Transcript } from "./chat-messages.ts";
import { showRaw } from "./chat-raw.ts";
import { startDesk } from "./desk.ts";
import { base, el, live, setLive, setText, show } from "./dom.ts";
import { linkClosedMessage, linkStateBadges, linkRejectedMessage } from "../ui/text/labels.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";

interface Conversation {
  readonly name: string;
  readonly transcript: Transcript;
  readonly link: Client;
}

const messages = live("messages")!;
const composer = document.querySelector<HTMLFormElement>("[data-send]")!;
const field = document.querySelector<HTMLTextAreaElement>("#message")!;
const pictures = choosePictures(composer, live("pictures")!, (text) =>
  setLive("send-problem", text),
);
const raw = showRaw();
/** Their transcripts stay while the page does. */
const transcripts = new Map<string, Transcript>();
let current: Conversation | undefined;
let others: readonly string[] = [];
let nextId = 0;
let opened = 0;
let typedAt = 0;

startDesk();
// Beside the chat where there is room; above it, folded.
if (matchMedia("(min-width: 56rem)").matches)
  document.querySelector<HTMLDetailsElement>(".chat-list")!.open = true;
const refresh = () =>
  load<ConnectionsView>("/api/connections?limit=100", ({ connections }) => {
    others = [...new Set(connections.map(({ session }) => session))];
    showNames();
  });
const settled = (): void => {
  if (current?.link.state() === "blocked") current.link.retry();
};
startStream({
  refresh,
  news: ["connected", "disconnected"],
  on: { hello: settled, settings: settled, token: settled },
});
open(nameInAddress() ?? knownNames()[0] ?? newName());

document.querySelector("[data-new]")!.addEventListener("click", () => {
  open(newName());
  field.focus();
});
document.querySelector<HTMLFormElement>("[data-open]")!.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector<HTMLInputElement>("#session")!;
  const name = input.value.trim();
  input.setCustomValidity(
    isName(name) ? "" : "A name has up to 256 bytes and no control characters.",
  );
  if (!input.reportValidity()) return;
  input.value = "";
  open(name);
});
document.querySelector("[data-reconnect]")!.addEventListener("click", () => {
  if (current?.link.state() !== "stopped") return current?.link.retry();
  current.transcript.note("A new connection: what was said in between may be missing here.");
  open(current.name);
});
addEventListener("hashchange", () => {
  const name = nameInAddress();
  if (name !== undefined && name !== current?.name) open(name);
});
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  void send();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send();
});
field.addEventListener("input", () => {
  setLive("send-problem", "");
  if (Date.now() - typedAt < 3000) return;
  typedAt = Date.now();
  current?.link.typing(true);
});

function open(name: string): void {
  const mine = ++opened;
  current?.link.stop();
  remember(name);
  const shown = transcripts.get(name) ?? transcript();
  transcripts.set(name, shown);
  messages.replaceChildren(shown.list);
  messages.scrollTop = messages.scrollHeight;
  raw.clear();
  setLive("session", name);
  setLive("typing", "");
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  const link: Client = openLink(name, {
    onRaw: raw.add,
    onFrame: (frame) => following(() => take(shown, frame)),
    onTyping: (on) => setLive("typing", on ? "Typing…" : ""),
    onGap: () =>
      following(() => shown.note("Some messages were missed while the connection was cut.")),
    onError: ({ code, message }) => following(() => shown.note(message || code)),
    onState: (change) => {
      // What happens to a link that was left is not about the one that is shown.
      if (mine === opened) showLink(change);
    },
  });
  current = { name, transcript: shown, link };
  showNames();
}

function nameInAddress(): string | undefined {
  try {
    const name = decodeURIComponent(location.hash.slice(1));
    return isName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

async function send(): Promise<void> {
  const to = current;
  await pictures.ready();
  if (to !== current) return;
  const content = field.value.trim();
  const media = pictures.all();
  if (content === "" && media.length === 0) return field.focus();
  if (!current || current.link.state() === "stopped") {
    return setLive(
      "send-problem",
      "There is no connection now, so nothing was sent. What you typed stays.",
    );
  }
  const { link, transcript: shown } = current;
  const id = `${Date.now().toString(36)}-${++nextId}`;
  shown.mine(id, content, media);
  if (link.state() !== "open") shown.settle(id, "waits for the connection");
  link.send({ id, content, ...(media.length > 0 && { media }) }).then(
    ({ status }) => shown.settle(id, status === "delivered" ? "taken" : "sent"),
    ({ message }: LinkError) => shown.settle(id, message, true),
  );
  field.value = "";
  typedAt = 0;
  pictures.clear();
  setLive("send-problem", "");
  messages.scrollTop = messages.scrollHeight;
  field.focus();
}

function take(shown: Transcript, frame: ServerFrame): void {
  if (shown.take(frame)) setLive("typing", "");
}

/** Stays at the newest message while `change` adds to it. */
function following(change: () => void): void {
  const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 60;
  change();
  if (isAtEnd) messages.scrollTop = messages.scrollHeight;
}

function showLink({ from, to, reason, check }: LinkChange): void {
  const badge = live("link");
  const [text, tone] = linkStateBadges[to];
  setText(badge, text);
  if (badge) badge.className = `badge ${tone}`;
  if (to === "open") return show(live("trouble"), false);
  if (to === "connecting") return;
  setLive("typing", "");
  if (to === "stopped" || (to === "blocked" && from === "open"))
    return trouble(linkClosedMessage(reason));
  const why = linkRejectedMessage(reason) ?? check;
  if (why !== undefined) trouble(why);
}

function trouble(text: string): void {
  setLive("trouble-text", text);
  show(live("trouble"), true);
}

function showNames(): void {
  const known = knownNames();
  const names = [...new Set([...(current ? [current.name] : []), ...known, ...others])];
  const list = live("conversations")!;
  const key = JSON.stringify([names, others, current?.name]);
  if (list.dataset["key"] === key) return;
  list.dataset["key"] = key;
  const focused = (document.activeElement as HTMLAnchorElement | null)?.hash;
  list.replaceChildren(
    ...names.map((name) =>
      el(
        "li",
        {},
        el(
          "a",
          {
            href: `${base}/chat#${encodeURIComponent(name)}`,
            ...(name === current?.name && { "aria-current": "true" }),
          },
          el("span", { title: name }, name),
          others.includes(name) && el("small", {}, "connected"),
        ),
      ),
    ),
  );
  if (focused) [...list.querySelectorAll("a")].find(({ hash }) => hash === focused)?.focus();
}
