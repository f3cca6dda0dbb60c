import type { Attachment, ServerFrame, ServerMessage } from "../../../lib/pico-wire/index.ts";
import { el, setText } from "./dom.ts";
import { timeAgo } from "./times.ts";

/** The messages of one conversation, as they stand on the page. */
export interface Transcript {
  readonly list: HTMLElement;
  mine(id: string, content: string, pictures: readonly string[]): void;
  /** What became of a message of ours. */
  settle(id: string, words: string, isProblem?: boolean): void;
  /** True when the frame changed the transcript. */
  take(frame: ServerFrame): boolean;
  note(text: string): void;
}

interface Shown {
  readonly element: HTMLElement;
  readonly text: HTMLElement;
  readonly extras: HTMLElement;
  readonly state: HTMLElement;
}

type Payload = Readonly<Record<string, unknown>>;

const inline = /^data:image\/(png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=]*$/;
const limit = 500;

export function transcript(): Transcript {
  const list = el("ol", { class: "transcript" });
  const shown = new Map<string, Shown>();
  let unnamed = 0;
  const put = (id: string, made: Shown): Shown => {
    shown.set(id, made);
    list.append(made.element);
    for (const [oldest, { element }] of shown) {
      if (shown.size <= limit) break;
      element.remove();
      shown.delete(oldest);
    }
    return made;
  };
  const upsert = (payload: ServerMessage, timestamp = Date.now()): void => {
    const id = `in ${payload.message_id || `unnamed ${++unnamed}`}`;
    const kind =
      payload.kind === "thought" || payload.thought
        ? "thought"
        : payload.kind === "tool_calls"
          ? "tools"
          : "answer";
    const message = shown.get(id) ?? put(id, bubble(kind, timestamp, payload.model_name ?? ""));
    setText(message.text, payload.content);
    message.text.hidden = payload.content === "";
    message.element.classList.toggle("pending", payload.placeholder === true);
    message.extras.replaceChildren(
      ...attachments(payload.attachments),
      ...toolCalls(payload.tool_calls),
    );
  };
  const note = (text: string): void => list.append(el("li", { class: "note" }, text));
  return {
    list,
    note,
    mine(id, content, pictures) {
      const message = put(`out ${id}`, bubble("mine", Date.now(), ""));
      setText(message.text, content);
      message.text.hidden = content === "";
      message.extras.append(...pictures.map((url) => picture(url, "")));
      setText(message.state, "not taken yet");
    },
    settle(id, words, isProblem = false) {
      const message = shown.get(`out ${id}`);
      if (!message) return;
      setText(message.state, words);
      message.element.classList.toggle("failed", isProblem);
    },
    take(frame) {
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
        default:
          return false;
      }
    },
  };
}

const names = { mine: "You", answer: "Answer", thought: "Thought", tools: "Tool calls" } as const;

function bubble(kind: keyof typeof names, at: number, model: string): Shown {
  const text = el("p", { class: "text" });
  const extras = el("div", { class: "extras" });
  const state = el("span", { class: "state" });
  const name = el("b", {}, names[kind]);
  const head = el(
    "p",
    { class: "from" },
    name,
    model !== "" && el("span", {}, model),
    timeAgo(at),
    state,
  );
  const isFolded = kind === "thought";
  const element = isFolded
    ? el(
        "li",
        { class: `message ${kind}` },
        el("details", { open: true }, el("summary", {}, "Thought"), text, extras),
      )
    : el("li", { class: `message ${kind}` }, head, text, extras);
  return { element, text, extras, state };
}

function attachments(all: readonly Attachment[] = []): Node[] {
  return all.flatMap(({ url, filename: name = "" }): Node[] => {
    if (inline.test(url)) return [picture(url, name)];
    if (!url.startsWith("https:"))
      return [el("p", { class: "hint" }, name || "An attachment that cannot be shown")];
    return [el("a", { href: url, rel: "noreferrer noopener", target: "_blank" }, name || url)];
  });
}

function picture(url: string, name: string): HTMLElement {
  return el("img", { src: url, alt: name || "Picture", loading: "lazy" });
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
