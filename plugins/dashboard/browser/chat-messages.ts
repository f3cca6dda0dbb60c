// Draws the messages of a conversation.
import type {
  Attachment,
  ServerFrame,
  ServerMessage,
  TurnMedia,
  UserTurn,
} from "../../../lib/pico-wire/index.ts";
import type { Turn } from "../api/conversation-views.ts";
import { el, setText } from "./dom.ts";
import { timeAgo } from "./times.ts";

/** The messages of one conversation on the page. */
export interface Transcript {
  readonly list: HTMLElement;
  /** Adds a message sent by the user. */
  addSent(id: string, content: string, images: readonly string[]): void;
  /** Sets the delivery status of a sent message. */
  setStatus(id: string, text: string, isProblem?: boolean): void;
  /**
   * Adds turns of the history in their order. A message that is shown already keeps its place.
   *
   * @param options.atEnd - Adds them after the messages shown. @defaultValue before them
   * @param options.replace - Replaces the text of messages that are shown. @defaultValue `false`
   */
  addHistory(turns: readonly Turn[], options?: { atEnd?: boolean; replace?: boolean }): void;
  /** @returns The element of a turn. */
  find(turn: Pick<Turn, "role" | "id">): HTMLElement | undefined;
  /** @returns True if the frame changed the transcript. */
  receive(frame: ServerFrame): boolean;
  addNote(text: string): void;
}

interface MessageElements {
  readonly element: HTMLElement;
  readonly text: HTMLElement;
  readonly extras: HTMLElement;
  readonly state: HTMLElement;
}

type Payload = Readonly<Record<string, unknown>>;

const inlineImage = /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=]*$/;
const maxMessages = 500;

function kindOf({ kind, thought }: ServerMessage): "thought" | "tools" | "answer" {
  if (kind === "thought" || thought) return "thought";
  return kind === "tool_calls" ? "tools" : "answer";
}

export function createTranscript(): Transcript {
  const list = el("ol", { class: "transcript" });
  const shown = new Map<string, MessageElements>();
  let unnamed = 0;
  const append = (id: string, message: MessageElements): MessageElements => {
    shown.set(id, message);
    list.append(message.element);
    for (const [oldest, { element }] of shown) {
      if (shown.size <= maxMessages) break;
      element.remove();
      shown.delete(oldest);
    }
    return message;
  };
  const upsert = (payload: ServerMessage, timestamp = Date.now()): void => {
    const id = `in ${payload.message_id || `unnamed ${++unnamed}`}`;
    const message =
      shown.get(id) ??
      append(id, createMessage(kindOf(payload), timestamp, payload.model_name ?? ""));
    setText(message.text, payload.content);
    message.text.hidden = payload.content === "";
    message.element.classList.toggle("pending", payload.placeholder === true);
    message.extras.replaceChildren(
      ...attachments(payload.attachments),
      ...toolCalls(payload.tool_calls),
    );
  };
  /** Adds a message of another device, or one that this page sent before a reload. */
  const addTurn = (turn: UserTurn, timestamp = Date.now()): void => {
    const id = `out ${turn.request_id}`;
    if (shown.has(id)) return;
    const message = append(id, createMessage("mine", timestamp, turn.sender?.name ?? ""));
    setText(message.text, turn.content);
    message.text.hidden = turn.content === "";
    message.extras.append(...attachments([...turn.media, ...turn.attachments].flatMap(withUrl)));
  };
  return {
    list,
    addHistory: (turns, options = {}) => insertTurns(list, shown, turns, options),
    find: (turn) => shown.get(keyOf(turn))?.element,
    addNote: (text) => list.append(el("li", { class: "note" }, text)),
    addSent(id, content, images) {
      const message = append(`out ${id}`, createMessage("mine", Date.now(), ""));
      setText(message.text, content);
      message.text.hidden = content === "";
      message.extras.append(...images.map((url) => createImage(url, "")));
      setText(message.state, "Sending…");
    },
    setStatus(id, text, isProblem = false) {
      const message = shown.get(`out ${id}`);
      if (!message) return;
      setText(message.state, text);
      message.element.classList.toggle("failed", isProblem);
    },
    receive(frame) {
      switch (frame.type) {
        case "message.create":
        case "message.update":
        case "media.create":
          upsert(frame.payload, frame.timestamp);
          return true;
        case "message.delete": {
          const id = `in ${frame.payload.message_id}`;
          shown.get(id)?.element.remove();
          shown.delete(id);
          return true;
        }
        case "message.user":
          addTurn(frame.payload, frame.timestamp);
          return true;
        default:
          return false;
      }
    },
  };
}

const keyOf = ({ role, id }: Pick<Turn, "role" | "id">): string =>
  `${role === "user" ? "out" : "in"} ${id}`;

const media = (all: Turn["attachments"] = []): Node[] =>
  attachments(all.map(({ url = "", filename }) => ({ url, ...(filename && { filename }) })));

function fromHistory({ role, kind, at, model = "", sender }: Turn): MessageElements {
  const answer = kind === "tool_calls" ? "tools" : (kind ?? "answer");
  const message = createMessage(role === "user" ? "mine" : answer, at, model);
  if (role === "user" && sender?.id !== "owner")
    setText(message.element.querySelector("b"), sender?.name ?? sender?.id ?? "User");
  return message;
}

function insertTurns(
  list: HTMLElement,
  shown: Map<string, MessageElements>,
  turns: readonly Turn[],
  { atEnd = false, replace = false }: { readonly atEnd?: boolean; readonly replace?: boolean },
): void {
  let before = atEnd ? (list.lastElementChild ?? undefined) : undefined;
  for (const turn of turns) {
    const id = keyOf(turn);
    const known = shown.get(id);
    const message = known ?? fromHistory(turn);
    if (!known) {
      if (before) before.after(message.element);
      else list.prepend(message.element);
      shown.set(id, message);
    }
    before = message.element;
    if (known && !replace) continue;
    setText(message.text, turn.content);
    message.text.hidden = turn.content === "";
    message.extras.replaceChildren(...media(turn.attachments));
    setText(message.state, turn.complete === false ? "Incomplete" : "");
  }
}

const kindLabels = {
  mine: "You",
  answer: "Reply",
  thought: "Thought",
  tools: "Tool calls",
} as const;

function createMessage(kind: keyof typeof kindLabels, at: number, model: string): MessageElements {
  const text = el("p", { class: "text" });
  const extras = el("div", { class: "extras" });
  const state = el("span", { class: "state" });
  const name = el("b", {}, kindLabels[kind]);
  const head = el(
    "p",
    { class: "from" },
    name,
    model !== "" && el("span", {}, model),
    timeAgo(at),
    state,
  );
  const isCollapsible = kind === "thought";
  const element = isCollapsible
    ? el(
        "li",
        { class: `message ${kind}` },
        el("details", { open: true }, el("summary", {}, "Thought"), text, extras),
      )
    : el("li", { class: `message ${kind}` }, head, text, extras);
  return { element, text, extras, state };
}

const withUrl = (media: TurnMedia): Attachment[] =>
  media.url === undefined ? [] : [{ ...media, url: media.url }];

function attachments(all: readonly Attachment[] = []): Node[] {
  return all.flatMap(({ url, filename: name = "" }): Node[] => {
    if (inlineImage.test(url)) return [createImage(url, name)];
    if (!url.startsWith("https:"))
      return [el("p", { class: "hint" }, name || "Attachment without preview")];
    return [el("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, name || url)];
  });
}

function createImage(url: string, name: string): HTMLElement {
  return el("img", { src: url, alt: name || "Image", loading: "lazy" });
}

function toolCalls(calls: readonly unknown[] = []): Node[] {
  return calls.map((call) =>
    el(
      "details",
      { class: "tool" },
      el("summary", {}, toolName(call)),
      el("pre", { tabindex: 0 }, JSON.stringify(call, undefined, 2).slice(0, 20_000)),
    ),
  );
}

function toolName(call: unknown): string {
  const { name, function: inner, tool } = (call ?? {}) as Payload;
  const { name: innerName } = (typeof inner === "object" && inner !== null ? inner : {}) as Payload;
  return textOf(name) || textOf(innerName) || textOf(tool) || textOf(inner) || "Tool";
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
