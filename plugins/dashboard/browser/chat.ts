// Chat page: conversations with the application through the channel.
import type { Client, LinkChange, LinkError } from "../../../lib/pico-link/browser.ts";
import type { ServerFrame } from "../../../lib/pico-wire/index.ts";
import type { ConnectionsView } from "../api/views.ts";
import { showHistory } from "./chat-history.ts";
import { openLink } from "./chat-link.ts";
import { isConversationName, knownNames, createName, rememberName } from "./chat-names.ts";
import { createImagePicker } from "./chat-images.ts";
import { createOpenRuns, type OpenRuns } from "./chat-runs.ts";
import { createTranscript, type Transcript } from "./chat-messages.ts";
import { showRaw } from "./chat-raw.ts";
import { startPage } from "./page.ts";
import { base, el, live, setLive, setText, show } from "./dom.ts";
import { linkClosedMessage, linkStateBadges, linkRejectedMessage } from "../ui/text/labels.ts";
import { load } from "./owner.ts";
import { startStream } from "./stream.ts";

interface Conversation {
  readonly name: string;
  readonly transcript: Transcript;
  readonly runs: OpenRuns;
  readonly link: Client;
}

const messages = live("messages")!;
const composer = document.querySelector<HTMLFormElement>("[data-send]")!;
const field = document.querySelector<HTMLTextAreaElement>("#message")!;
const images = createImagePicker(composer, live("images")!, (text) =>
  setLive("send-problem", text),
);
const raw = showRaw();
/** Transcripts of all conversations opened on this page, by name. */
const transcripts = new Map<string, Transcript>();
let current: Conversation | undefined;
let others: readonly string[] = [];
let nextId = 0;
let opened = 0;
let typedAt = 0;

startPage();
// Narrow screens show the list above the chat, collapsed.
if (matchMedia("(min-width: 56rem)").matches)
  document.querySelector<HTMLDetailsElement>(".chat-list")!.open = true;
const refresh = () =>
  load<ConnectionsView>("/api/connections?limit=100", ({ connections }) => {
    others = [...new Set(connections.map(({ session }) => session))];
    showNames();
  });
/** Retries a blocked link, since the event may have removed the cause. */
const retryIfBlocked = (): void => {
  if (current?.link.state() === "blocked") current.link.retry();
};
startStream({
  refresh,
  refreshOn: ["connected", "disconnected"],
  on: { hello: retryIfBlocked, settings: retryIfBlocked, token: retryIfBlocked },
});
open(nameInUrl() ?? knownNames()[0] ?? createName());

document.querySelector("[data-new]")!.addEventListener("click", () => {
  open(createName());
  field.focus();
});
document.querySelector<HTMLFormElement>("[data-open]")!.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector<HTMLInputElement>("#session")!;
  const name = input.value.trim();
  input.setCustomValidity(
    isConversationName(name) ? "" : "Enter a name of up to 256 bytes without control characters.",
  );
  if (!input.reportValidity()) return;
  input.value = "";
  open(name);
});
document.querySelector("[data-reconnect]")!.addEventListener("click", () => {
  if (current?.link.state() !== "stopped") return current?.link.retry();
  current.transcript.addNote("Reconnected. Messages sent in the meantime may be missing.");
  open(current.name);
});
addEventListener("hashchange", () => {
  const name = nameInUrl();
  if (name !== undefined && name !== current?.name) open(name);
});
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  if (isStopShown()) stopAnswers();
  else void send();
});
addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || event.isComposing || !current?.runs.isOpen()) return;
  event.preventDefault();
  stopAnswers();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  void send();
});
field.addEventListener("input", () => {
  showButton();
  setLive("send-problem", "");
  if (Date.now() - typedAt < 3000) return;
  typedAt = Date.now();
  current?.link.typing(true);
});

function open(name: string): void {
  const openNumber = ++opened;
  current?.link.stop();
  rememberName(name);
  const shown = transcripts.get(name) ?? createTranscript();
  transcripts.set(name, shown);
  messages.replaceChildren(shown.list);
  messages.scrollTop = messages.scrollHeight;
  raw.clear();
  setLive("session", name);
  setLive("typing", "");
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  const runs = createOpenRuns(() => showButton());
  const link: Client = openLink(name, {
    onRaw(direction, text) {
      if (direction === "in") runs.receiveRaw(text);
      raw.add(direction, text);
    },
    onFrame(frame) {
      keepScrolled(() => receiveFrame(shown, frame));
      runs.receive(frame);
    },
    onTyping: (on) => setLive("typing", on ? "Typing…" : ""),
    onGap: () =>
      keepScrolled(() => shown.addNote("Some messages were lost while the connection was down.")),
    onError: ({ code, message }) => keepScrolled(() => shown.addNote(message || code)),
    onState: (change) => {
      // Ignore changes of links that belong to a conversation opened earlier.
      if (openNumber === opened) showLink(change);
    },
  });
  current = { name, transcript: shown, runs, link };
  showButton();
  showNames();
  void showHistory(name, shown, (change) => {
    if (openNumber === opened) keepPosition(change);
  });
}

/** The button stops answers while the field is empty; text is sent also during an answer. */
function isStopShown(): boolean {
  const isEmpty = field.value.trim() === "" && images.all().length === 0;
  return isEmpty && (current?.runs.isOpen() ?? false);
}

function showButton(): void {
  const label = isStopShown() ? "Stop" : "Send";
  setText(composer.querySelector<HTMLElement>("[data-submit]"), label);
}

function stopAnswers(): void {
  setLive("send-problem", "");
  current?.link.stopAnswer().catch(({ message }: LinkError) => setLive("send-problem", message));
}

function nameInUrl(): string | undefined {
  try {
    const name = decodeURIComponent(location.hash.slice(1));
    return isConversationName(name) ? name : undefined;
  } catch {
    return undefined;
  }
}

async function send(): Promise<void> {
  const conversation = current;
  await images.ready();
  if (conversation !== current) return;
  const content = field.value.trim();
  const media = images.all();
  if (content === "" && media.length === 0) return field.focus();
  if (!current || current.link.state() === "stopped") {
    return setLive(
      "send-problem",
      "Not sent: there is no connection. Your text is still in the field.",
    );
  }
  const { link, runs, transcript: shown } = current;
  const id = `${Date.now().toString(36)}-${++nextId}`;
  shown.addSent(id, content, media);
  runs.begin(id);
  if (link.state() !== "open") shown.setStatus(id, "Waiting for connection…");
  link.send({ id, content, ...(media.length > 0 && { media }) }).then(
    ({ status }) => shown.setStatus(id, status === "delivered" ? "Delivered" : "Sent"),
    ({ message }: LinkError) => {
      shown.setStatus(id, message, true);
      runs.end(id);
    },
  );
  field.value = "";
  typedAt = 0;
  images.clear();
  showButton();
  setLive("send-problem", "");
  messages.scrollTop = messages.scrollHeight;
  field.focus();
}

function receiveFrame(shown: Transcript, frame: ServerFrame): void {
  if (shown.receive(frame)) setLive("typing", "");
}

/** Runs `change` and scrolls to the newest message if the list was at the end. */
function keepScrolled(change: () => void): void {
  const isAtEnd = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 60;
  change();
  if (isAtEnd) messages.scrollTop = messages.scrollHeight;
}

/** Runs `change`, which adds messages above, and keeps the visible ones in place. */
function keepPosition(change: () => void): void {
  const below = messages.scrollHeight - messages.scrollTop;
  change();
  messages.scrollTop = messages.scrollHeight - below;
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
    return showTrouble(linkClosedMessage(reason));
  const explanation = linkRejectedMessage(reason) ?? check;
  if (explanation !== undefined) showTrouble(explanation);
}

function showTrouble(text: string): void {
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
