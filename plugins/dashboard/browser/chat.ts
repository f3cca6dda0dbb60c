import type { ConnectionsView } from "../api/views.ts";
import type { StatusView } from "../status.ts";
import { isName, knownNames, newName, remember } from "./chat-names.ts";
import { choosePictures } from "./chat-pictures.ts";
import { transcript, type Transcript } from "./chat-messages.ts";
import { showRaw } from "./chat-raw.ts";
import { startDesk } from "./desk.ts";
import { base, el, live, setLive, setText, show } from "./dom.ts";
import { closeWords } from "./close-words.ts";
import { askOwner, load } from "./owner.ts";
import { openPico, type Frame, type LinkState, type PicoSocket } from "./pico-socket.ts";
import { atMostEvery, startStream } from "./stream.ts";

interface Conversation {
  readonly name: string;
  readonly transcript: Transcript;
  readonly socket: PicoSocket;
}

const looks: Readonly<Record<LinkState, readonly [string, string]>> = {
  connecting: ["Connecting", "off"],
  open: ["Connected", "ok"],
  waiting: ["Reconnecting…", "warn"],
  stopped: ["Disconnected", "bad"],
};

const messages = live("messages")!;
const composer = document.querySelector<HTMLFormElement>("[data-send]")!;
const field = document.querySelector<HTMLTextAreaElement>("#message")!;
const pictures = choosePictures(composer, live("pictures")!, (text) => setLive("send-problem", text));
const raw = showRaw();
/** Their transcripts stay while the page does. */
const transcripts = new Map<string, Transcript>();
let current: Conversation | undefined;
let others: readonly string[] = [];
let nextId = 0;
let typedAt = 0;

startDesk();
// Beside the chat where there is room; above it, folded.
if (matchMedia("(min-width: 56rem)").matches) document.querySelector<HTMLDetailsElement>(".chat-list")!.open = true;
const refresh = () => load<ConnectionsView>("/api/connections?limit=100", ({ connections }) => {
  others = [...new Set(connections.map(({ session }) => session))];
  showNames();
});
const soon = atMostEvery(1000, refresh);
startStream({ refresh, on: { connected: soon, disconnected: soon } });
open(nameInAddress() ?? knownNames()[0] ?? newName());

document.querySelector("[data-new]")!.addEventListener("click", () => {
  open(newName());
  field.focus();
});
document.querySelector<HTMLFormElement>("[data-open]")!.addEventListener("submit", (event) => {
  event.preventDefault();
  const input = document.querySelector<HTMLInputElement>("#session")!;
  const name = input.value.trim();
  input.setCustomValidity(isName(name) ? "" : "A name has up to 256 bytes and no control characters.");
  if (!input.reportValidity()) return;
  input.value = "";
  open(name);
});
document.querySelector("[data-reconnect]")!.addEventListener("click", () => current?.socket.connect());
addEventListener("hashchange", () => {
  const name = nameInAddress();
  if (name !== undefined && name !== current?.name) open(name);
});
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  send();
});
field.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
field.addEventListener("input", () => {
  setLive("send-problem", "");
  if (Date.now() - typedAt < 3000) return;
  typedAt = Date.now();
  current?.socket.send({ type: "typing.start" });
});

function open(name: string): void {
  current?.socket.stop();
  remember(name);
  const shown = transcripts.get(name) ?? transcript();
  transcripts.set(name, shown);
  messages.replaceChildren(shown.list);
  messages.scrollTop = messages.scrollHeight;
  raw.clear();
  setLive("session", name);
  setLive("typing", "");
  history.replaceState(null, "", `#${encodeURIComponent(name)}`);
  const socket = openPico(name, {
    onFrame: (frame) => take(shown, frame),
    onRaw: raw.add,
    onState: (state, why) => void showLink(state, why),
  });
  current = { name, transcript: shown, socket };
  socket.connect();
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

function send(): void {
  const content = field.value.trim();
  const media = pictures.all();
  if (content === "" && media.length === 0) return field.focus();
  const id = `${Date.now().toString(36)}-${++nextId}`;
  const frame = { type: "message.send", id, payload: { content, ...(media.length > 0 && { media }) } };
  if (!current?.socket.send(frame)) {
    return setLive("send-problem", "There is no connection now, so nothing was sent. What you typed stays.");
  }
  current.transcript.mine(id, content, media);
  field.value = "";
  typedAt = 0;
  pictures.clear();
  setLive("send-problem", "");
  messages.scrollTop = messages.scrollHeight;
  field.focus();
}

function take(shown: Transcript, { type, payload = {}, ...frame }: Frame): void {
  const follow = messages.scrollHeight - messages.scrollTop - messages.clientHeight < 60;
  const id = String(payload["request_id"] ?? "");
  if (type === "typing.start") setLive("typing", "Typing…");
  else if (type === "typing.stop") setLive("typing", "");
  else if (type === "message.ack") shown.settle(id, "taken");
  else if (type === "gap") shown.note("Some messages were missed while the connection was cut.");
  else if (type === "error") {
    const text = String(payload["message"] ?? payload["code"] ?? "The channel refused it.");
    if (id === "") shown.note(text);
    else shown.settle(id, text, true);
  } else if (shown.take({ type, payload, ...frame })) setLive("typing", "");
  if (follow) messages.scrollTop = messages.scrollHeight;
}

async function showLink(state: LinkState, why?: { code: number; reason: string; wasOpen: boolean }): Promise<void> {
  const badge = live("link");
  setText(badge, looks[state][0]);
  if (badge) badge.className = `badge ${looks[state][1]}`;
  if (state === "open") return show(live("trouble"), false);
  if (!why) return;
  setLive("typing", "");
  if (state === "stopped") return trouble(closeWords(why.code, why.reason));
  if (why.wasOpen) return;
  // A browser does not say why a handshake failed, so the status is asked.
  const answer = await askOwner<StatusView>("GET", "/api/status");
  if ("refused" in answer) return;
  const { channel } = answer.body;
  if (!channel) trouble("This service was started without a pico channel.");
  else if (!channel.enabled) trouble("The channel is off. Turn it on on the overview.");
  else if (channel.connections >= channel.maxConnections) trouble("All connections of the channel are taken.");
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
  list.replaceChildren(...names.map((name) => el("li", {}, el("a", {
    href: `${base}/chat#${encodeURIComponent(name)}`, ...(name === current?.name && { "aria-current": "true" }),
  }, el("span", {}, name), others.includes(name) && el("small", {}, "connected")))));
  if (focused) [...list.querySelectorAll("a")].find(({ hash }) => hash === focused)?.focus();
}
