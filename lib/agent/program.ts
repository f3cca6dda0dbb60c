/** Runs a handler for each line of Doorward. */
import { readFile } from "node:fs/promises";
import { Answer, toSettled, type AnswerPort } from "./answer.ts";
import { StateFile } from "./state.ts";
import {
  AgentError,
  type AgentFile,
  type AgentMessage,
  type AgentOptions,
  type Handler,
  type Written,
} from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A line in either direction. */
export interface Line {
  readonly type: string;
  readonly id?: string;
  readonly channel?: string;
  readonly session_id?: string;
  readonly payload?: Fields;
}

/** Surroundings of a program. */
interface ProgramSurroundings extends AgentOptions {
  readonly write: (line: Line) => void;
  readonly warn: (text: string) => void;
  readonly mediaFolder?: string | undefined;
  readonly stateFolder?: string | undefined;
  /** Begins the ids of this process: other programs and earlier runs make ids, too. */
  readonly prefix: string;
  /** Runs a function after this many milliseconds. */
  readonly after: (ms: number, run: () => void) => void;
}

const flushMs = 30;

async function readFileOf(path: string | undefined, url: string | undefined): Promise<Uint8Array> {
  if (path !== undefined) return await readFile(path);
  // `fetch` decodes data: URLs. Another address is not read: a client could name any.
  if (!url?.startsWith("data:")) throw new Error("the file is not on this machine");
  return new Uint8Array(await (await fetch(url)).arrayBuffer());
}

function toFile(given: unknown, named: Fields | undefined): AgentFile {
  const item = (typeof given === "string" ? { ...named, url: given } : given) as Fields;
  const text = (name: string): string | undefined => item[name] as string | undefined;
  const [path, url] = [text("path"), text("url")];
  const known = { name: text("filename"), contentType: text("content_type"), id: text("id") };
  const size = item["size"] as number | undefined;
  const defined = Object.entries({ ...known, size, path, url }).filter(([, v]) => v !== undefined);
  return { ...Object.fromEntries(defined), read: () => readFileOf(path, url) };
}

function toMessage(line: Line, state: StateFile, signal: AbortSignal): AgentMessage {
  const { id = "", channel = "pico", session_id: session = "", payload = {} } = line;
  const list = (name: string): readonly Fields[] => (payload[name] ?? []) as readonly Fields[];
  const names = list("attachments");
  const sender = payload["sender"] as AgentMessage["sender"];
  return {
    id,
    channel,
    session,
    content: String(payload["content"] ?? ""),
    files: list("media").map((each, index) => toFile(each, names[index])),
    ...(sender && { sender }),
    ...(payload["answer"] !== undefined && { answer: toSettled(payload["answer"] as Fields) }),
    previous: list("previous"),
    tools: list("tools"),
    toolChoice: payload["tool_choice"] ?? "auto",
    toolResults: list("tool_results"),
    raw: payload,
    state: state.values,
    signal,
  };
}

/** Rejects when the signal aborts. */
function untilAborted(signal: AbortSignal): { readonly promise: Promise<never>; end(): void } {
  let abort = (): void => undefined;
  const promise = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
  promise.catch(() => undefined); // also if nothing waits for it
  return { promise, end: () => signal.removeEventListener("abort", abort) };
}

const isIterable = (value: unknown): value is AsyncIterable<string> | Iterable<string> =>
  typeof value === "object" &&
  value !== null &&
  (Symbol.asyncIterator in value || Symbol.iterator in value);

export class Program {
  private readonly handler: Handler;
  private readonly surroundings: ProgramSurroundings;
  private readonly runs = new Map<string, AbortController>();
  private readonly work = new Set<Promise<void>>();
  private readonly waits = new Map<string, { ok(line: Fields): void; no(error: Error): void }>();
  private readonly questions = new Map<string, string>();
  private count = 0;
  private isEnding = false;
  /** The error of those that wait for an answer when Doorward ends the input. */
  private inputEnd: AgentError | undefined;

  constructor(handler: Handler, surroundings: ProgramSurroundings) {
    this.handler = handler;
    this.surroundings = surroundings;
    const { can = [], parallel = false } = surroundings;
    const all = ["stop", "parts", "media", "questions", ...can];
    const order = parallel ? {} : { order: "ended" };
    surroundings.write({ type: "ready", payload: { can: all, ...order } });
  }

  /** Handles a line of Doorward. Unknown types are ignored. */
  receive(line: Line): void {
    const { type, id = "", payload = {} } = line;
    if (type === "message.send") this.begin(line);
    else if (type === "message.stop") this.stop(id);
    else if (type === "error") this.reject(id, payload);
    else if (type === "history") this.waits.get(id)?.ok(payload);
    // `message.stop` of the run follows. A handler must not take this for a no.
    else if (type === "question.settled" && payload["outcome"] === "stopped")
      this.stop(this.questions.get(id) ?? "");
    else if (type === "question.settled") this.waits.get(id)?.ok(payload);
  }

  /** Resolves when no handler runs. */
  async idle(): Promise<void> {
    while (this.work.size > 0) await Promise.all(this.work);
  }

  /** No answer to a question arrives any more; other work may still end. */
  inputEnded(): void {
    this.inputEnd = new AgentError("not_running", "Doorward has ended");
    for (const { no } of this.waits.values()) no(this.inputEnd);
  }

  /** Stops what runs. Doorward ends the answers. */
  async end(): Promise<void> {
    this.isEnding = true;
    for (const run of this.runs.values())
      run.abort(new AgentError("not_running", "Doorward stops"));
    await this.idle();
  }

  private begin(line: Line): void {
    const { id = "" } = line;
    // It has arrived, so no client sends it again, and a kill does not repeat its work.
    this.surroundings.write({ type: "message.ack", payload: { request_id: id } });
    const controller = new AbortController();
    this.runs.set(id, controller);
    const done = this.perform(line, controller.signal).finally(() => {
      this.runs.delete(id);
      this.work.delete(done);
    });
    this.work.add(done);
  }

  private async perform(line: Line, signal: AbortSignal): Promise<void> {
    const { id = "", channel = "pico", session_id: session = "" } = line;
    const { stateFolder, mediaFolder, write, warn, prefix, after } = this.surroundings;
    const port: AnswerPort = {
      mediaFolder,
      newId: () => `${prefix}-${this.count++}`,
      write: (type, payload, more) => write({ type, ...more, payload }),
      later: (run) => after(flushMs, run),
      expect: (question) => this.expect(question, id, signal),
    };
    let answer: Answer | undefined;
    const abort = untilAborted(signal);
    try {
      const state = await StateFile.read(stateFolder, channel, session);
      const message = toMessage(line, state, signal);
      answer = new Answer(port, message, state);
      await this.call(message, answer, abort.promise);
      await state.save();
      answer.closeSteps("not completed");
      answer.end();
    } catch (error) {
      if (this.isEnding || error === this.inputEnd) return; // Doorward ends the answer itself.
      if (!signal.aborted) {
        warn(error instanceof Error ? (error.stack ?? error.message) : String(error));
        if (answer) answer.fail(error);
        else port.write("error", { request_id: id, message: String(error) });
        return;
      }
      answer?.closeSteps("stopped");
      if (answer) answer.end("stopped");
      else port.write("message.ack", { request_id: id, final: true, finish_reason: "stopped" });
    } finally {
      abort.end();
    }
  }

  /** A handler that ignores the signal goes on without Doorward after a stop. */
  private async call(
    message: AgentMessage,
    answer: Answer,
    aborted: Promise<never>,
  ): Promise<void> {
    const given = Promise.resolve().then(() => this.handler(message, answer));
    const written: Written = await Promise.race([given, aborted]);
    if (typeof written === "string") return answer.write(written);
    if (!isIterable(written)) return;
    const pieces =
      Symbol.asyncIterator in written
        ? written[Symbol.asyncIterator]()
        : written[Symbol.iterator]();
    try {
      for (;;) {
        const next = await Promise.race([pieces.next(), aborted]);
        if (next.done === true) return;
        answer.write(next.value);
      }
    } finally {
      // The `finally` blocks of the generator run. Their promise may never settle.
      void Promise.resolve(pieces.return?.()).catch(() => undefined);
    }
  }

  private expect(id: string, request: string, signal: AbortSignal): Promise<Fields> {
    const abort = untilAborted(signal);
    const line = new Promise<Fields>((ok, no) => {
      this.waits.set(id, { ok, no });
      if (this.inputEnd) no(this.inputEnd);
    });
    this.questions.set(id, request);
    return Promise.race([line, abort.promise]).finally(() => {
      abort.end();
      this.waits.delete(id);
      this.questions.delete(id);
    });
  }

  private stop(request: string): void {
    this.runs.get(request)?.abort(new AgentError("stopped", "a person stopped the answer"));
  }

  private reject(id: string, payload: Fields): void {
    const [code, text] = [String(payload["code"] ?? "rejected"), String(payload["message"] ?? "")];
    const wait = this.waits.get(id);
    if (wait) wait.no(new AgentError(code, text));
    else this.surroundings.warn(`Doorward rejected a line: ${code}: ${text}`);
  }
}
