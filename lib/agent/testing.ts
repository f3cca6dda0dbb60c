/**
 * Runs a handler without Doorward, for tests.
 *
 * @example
 * import { agent } from "doorward/agent";
 * import { talk } from "doorward/agent/testing";
 * const reply = agent(({ content }) => `you said ${content}`);
 * const { text } = await talk(reply, "hello"); // "you said hello"
 *
 * @module
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Program, type Line } from "./program.ts";
import type { AgentOption, Handler } from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The answer to a question: true and false allow and deny, a text is the id of an option or a free
 *  text, an object has the values of a form, and undefined closes the question. */
export type TalkReply = boolean | string | readonly string[] | Fields | undefined;

/** A message of the answer. */
export interface TalkPart {
  /** Its id. */
  readonly id: string;
  /** `thought`, `tool_calls` or `plan`; undefined for text. */
  readonly kind?: string;
  /** Its text. */
  text: string;
  /** The last payload, with `tool_calls`, `entries` and `attachments`. */
  payload: Fields;
}

/** The output of a handler. */
export interface Talk {
  /** Its text, without thoughts, steps and plans. */
  readonly text: string;
  /** All messages of the answer, in order. */
  readonly parts: readonly TalkPart[];
  /** The questions that it asked. */
  readonly questions: readonly Fields[];
  /** The text of its error. */
  readonly error?: string;
  /** The facts at its end, such as `usage` and `suggestions`. */
  readonly end: Fields;
  /** All lines. */
  readonly lines: readonly Line[];
}

/** Settings of `talk`. */
export interface TalkOptions {
  /** Answers to the questions, in order. Questions without one are closed. */
  readonly replies?: readonly TalkReply[];
  /** The conversation. @defaultValue `"test"` */
  readonly session?: string;
  /** Earlier turns, for `answer.history`. */
  readonly history?: readonly Fields[];
  /** Where `message.state` is kept from one call to the next. @defaultValue nowhere */
  readonly stateFolder?: string;
  /** More fields of the message, such as `media`, `tools` and `answer`. */
  readonly payload?: Fields;
}

/** Makes the payload of `question.settled` as Doorward would. */
function settle(question: Fields, reply: TalkReply): Fields {
  const options = (question["options"] ?? []) as readonly AgentOption[];
  if (reply === undefined) return { outcome: "dismissed" };
  if (typeof reply === "boolean") {
    const effect = reply ? "allow" : "deny";
    const option = options.find((each) => each.effect === effect)?.id ?? effect;
    return { outcome: "answered", option, effect };
  }
  if (typeof reply !== "string")
    return { outcome: "answered", [Array.isArray(reply) ? "options" : "values"]: reply };
  const known = options.find(({ id }) => id === reply);
  if (!known) return { outcome: "answered", text: reply };
  return { outcome: "answered", option: reply, ...(known.effect && { effect: known.effect }) };
}

/** Takes the lines of a program, and answers its questions. */
class Listener {
  readonly lines: Line[] = [];
  readonly parts = new Map<string, TalkPart>();
  readonly questions: Fields[] = [];
  error: string | undefined;
  end: Fields = {};
  private readonly replies: TalkReply[];
  private readonly history: readonly Fields[];
  private readonly send: (line: Line) => void;

  constructor({ replies = [], history = [] }: TalkOptions, send: (line: Line) => void) {
    this.replies = [...replies];
    this.history = history;
    this.send = send;
  }

  take(line: Line): void {
    this.lines.push(line);
    const { type, id, payload = {} } = line;
    if (/^message\.(create|update|append)$/.test(type)) this.grow(type, payload);
    else if (type === "message.ack" && payload["final"] === true) this.end = payload;
    else if (type === "error") this.error = String(payload["message"]);
    else if (type === "history.get") {
      const turns = this.history.slice(-Number(payload["limit"]));
      this.send({ type: "history", id: id!, payload: { turns } });
    } else if (type === "question.ask") {
      this.questions.push(payload);
      if (payload["durable"] !== undefined) return;
      const settled = settle(payload, this.replies.shift());
      this.send({ type: "question.settled", id: String(payload["message_id"]), payload: settled });
    }
  }

  private grow(type: string, payload: Fields): void {
    const id = String(payload["message_id"]);
    const kind = payload["kind"] as string | undefined;
    const part = this.parts.get(id) ?? { id, ...(kind && { kind }), text: "", payload };
    this.parts.set(id, part);
    const content = String(payload["content"] ?? "");
    part.text = type === "message.append" ? part.text + content : content;
    part.payload = { ...part.payload, ...payload };
  }
}

/**
 * Sends a message to a handler, answers its questions, and returns what it wrote.
 *
 * @example
 * import { talk } from "doorward/agent/testing";
 * const { text } = await talk(async (_, answer) => String(await answer.allow("Delete?")), "x", {
 *   replies: [true],
 * });
 */
export async function talk(
  handler: Handler,
  content: string,
  options: TalkOptions = {},
): Promise<Talk> {
  const { session = "test", stateFolder, payload } = options;
  const mediaFolder = await mkdtemp(join(tmpdir(), "doorward-talk-"));
  // Doorward never answers within a write.
  const listener = new Listener(
    options,
    (line) => void Promise.resolve().then(() => program.receive(line)),
  );
  const program: Program = new Program(handler, {
    write: (line) => listener.take(JSON.parse(JSON.stringify(line)) as Line),
    warn: () => undefined, // the error is in the result
    mediaFolder,
    stateFolder,
    prefix: "talk",
    after: (_, run) => run(),
  });
  const line = { type: "message.send", id: "1", channel: "pico", session_id: session };
  program.receive({ ...line, payload: { content, ...payload } });
  await program.idle();
  await rm(mediaFolder, { recursive: true });
  const parts = [...listener.parts.values()];
  const texts = parts.filter(({ kind, text }) => kind === undefined && text !== "");
  const { error, end, lines, questions } = listener;
  const text = texts.map((part) => part.text).join("\n\n");
  return { text, parts, questions, end, lines, ...(error !== undefined && { error }) };
}
