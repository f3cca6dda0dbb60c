/** The output of a handler: text, thoughts, steps, plans, files and questions. */
import { copyFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { StateFile } from "./state.ts";
import {
  AgentError,
  type AgentAnswer,
  type AgentMessage,
  type AgentOption,
  type PlanEntry,
  type QuestionFields,
  type Settled,
  type Step,
  type StepFields,
} from "./types.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Dependencies of an answer. */
export interface AnswerPort {
  readonly mediaFolder: string | undefined;
  newId(): string;
  write(type: string, payload: Fields, more?: Fields): void;
  /** Runs a function in 30 ms. */
  later(run: () => void): void;
  /** Waits for the line that answers `id`. */
  expect(id: string): Promise<Fields>;
}

const maxIdLength = 64;

/** Reads the payload of `question.settled`, or `payload.answer` of a message. */
export function toSettled(payload: Fields): Settled {
  const { outcome, effect } = payload;
  return {
    ...payload,
    outcome: String(outcome),
    allowed: outcome === "answered" && effect === "allow",
  };
}

/** An option without an id gets its text, or its number if the text is too long for one. */
const toOptions = (options: readonly (string | AgentOption)[]): readonly AgentOption[] =>
  options.map((option, index) =>
    typeof option === "string"
      ? { id: option.length <= maxIdLength ? option : String(index + 1), label: option }
      : option,
  );

const toText = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value) ?? "null");

export class Answer implements AgentAnswer {
  usage?: Readonly<Record<string, number>>;
  model?: string;
  finishReason?: string;
  suggestions?: readonly string[];
  private readonly port: AnswerPort;
  private readonly message: AgentMessage;
  private readonly state: StateFile;
  private readonly openSteps = new Set<Step>();
  private open: { readonly id: string; readonly kind: string | undefined } | undefined;
  private buffer = "";
  private planId: string | undefined;

  constructor(port: AnswerPort, message: AgentMessage, state: StateFile) {
    this.port = port;
    this.message = message;
    this.state = state;
  }

  write(text: string): void {
    this.add(text, undefined);
  }

  think(text: string): void {
    this.add(text, "thought");
  }

  tool(name: string, args: unknown = {}, fields: StepFields = {}): Step {
    this.close();
    const messageId = this.port.newId();
    const id = fields.id ?? messageId;
    let call: Fields = {
      state: "running",
      ...fields,
      id,
      function: { name, arguments: toText(args) },
    };
    const line = (final: boolean): Fields => ({
      message_id: messageId,
      content: call["title"] ?? name,
      final,
      tool_calls: [call],
    });
    this.create({ ...line(false), kind: "tool_calls" });
    const change = (fields: Fields, final: boolean): void => {
      call = { ...call, ...fields };
      if (final) this.openSteps.delete(step);
      this.port.write("message.update", line(final));
    };
    const step: Step = {
      id,
      update: (more) => change({ ...more }, false),
      done: (result, more) => change({ state: "completed", result: toText(result), ...more }, true),
      fail: (error, more) => change({ state: "failed", error, ...more }, true),
    };
    this.openSteps.add(step);
    return step;
  }

  call(name: string, args: unknown = {}): string {
    this.close();
    const id = this.port.newId();
    const call = { id, for: "client", function: { name, arguments: toText(args) } };
    this.create({ message_id: id, kind: "tool_calls", content: "", tool_calls: [call] });
    return id;
  }

  plan(entries: readonly PlanEntry[]): void {
    if (this.planId !== undefined) {
      this.port.write("message.update", { message_id: this.planId, content: "", entries });
      return;
    }
    this.close();
    this.planId = this.port.newId();
    this.create({ message_id: this.planId, kind: "plan", content: "", final: false, entries });
  }

  async file(
    source: string | Uint8Array,
    fields: { readonly name?: string; readonly contentType?: string; readonly text?: string } = {},
  ): Promise<void> {
    const { mediaFolder } = this.port;
    if (mediaFolder === undefined)
      throw new Error("this Doorward keeps no files: DOORWARD_MEDIA is not set");
    const path = join(mediaFolder, this.port.newId());
    const name = fields.name ?? (typeof source === "string" ? basename(source) : "file");
    if (typeof source === "string") await copyFile(source, path);
    else await writeFile(path, source);
    this.close();
    const attachment = { path, filename: name, content_type: fields.contentType };
    const content = fields.text ?? "";
    this.create({ message_id: this.port.newId(), content, final: true, attachments: [attachment] });
  }

  title(text: string): void {
    this.port.write("conversation.title", { request_id: this.message.id, title: text });
  }

  async allow(content: string, fields: QuestionFields = {}): Promise<boolean> {
    return (await this.ask(content, { ...fields })).allowed;
  }

  async ask(
    content: string,
    { kind = "approval", ...fields }: QuestionFields & { readonly kind?: string } & Fields = {},
  ): Promise<Settled> {
    this.close();
    const id = this.port.newId();
    const settled = this.port.expect(id);
    this.writeQuestion(id, { kind, content }, fields);
    return toSettled(await settled);
  }

  async choose(
    content: string,
    options: readonly (string | AgentOption)[],
    fields: QuestionFields & { readonly other?: boolean } = {},
  ): Promise<string | undefined> {
    const made = toOptions(options);
    const settled = await this.ask(content, { ...fields, kind: "choice", options: made });
    if (settled.outcome !== "answered") return undefined;
    const index = made.findIndex(({ id }) => id === settled.option);
    const chosen = options[index];
    return typeof chosen === "string" ? chosen : (settled.option ?? settled.text);
  }

  async form(
    content: string,
    schema: Fields,
    fields: QuestionFields = {},
  ): Promise<Fields | undefined> {
    const settled = await this.ask(content, { ...fields, kind: "form", schema });
    return settled.outcome === "answered" ? settled.values : undefined;
  }

  async askLater(
    key: string,
    content: string,
    { kind = "approval", ...fields }: QuestionFields & { readonly kind?: string } = {},
  ): Promise<void> {
    this.close();
    await this.state.save();
    this.writeQuestion(this.port.newId(), { kind, content, durable: key }, fields);
  }

  async history(limit = 50): Promise<readonly Fields[]> {
    const id = this.port.newId();
    const answered = this.port.expect(id);
    this.port.write("history.get", { request_id: this.message.id, limit }, { id });
    return (await answered)["turns"] as readonly Fields[];
  }

  /** Completes the text in progress. */
  close(): void {
    if (!this.open) return;
    const { id } = this.open;
    this.port.write("message.append", { message_id: id, content: this.buffer, final: true });
    this.buffer = "";
    this.open = undefined;
  }

  closeSteps(error: string): void {
    for (const step of [...this.openSteps]) step.fail(error);
  }

  end(finishReason = this.finishReason): void {
    this.close();
    this.port.write("message.ack", {
      request_id: this.message.id,
      final: true,
      usage: this.usage,
      model_name: this.model,
      finish_reason: finishReason,
      suggestions: this.suggestions,
    });
  }

  fail(error: unknown): void {
    this.close();
    this.closeSteps("failed");
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const text = `${name}: ${message}`.slice(0, 1_000);
    this.port.write("error", { request_id: this.message.id, message: text });
  }

  private writeQuestion(id: string, question: Fields, fields: QuestionFields & Fields): void {
    const { tool, timeoutS, ...more } = fields;
    this.port.write("question.ask", {
      request_id: this.message.id,
      message_id: id,
      ...question,
      ...more,
      tool_call_id: typeof tool === "object" ? tool.id : tool,
      timeout_s: timeoutS,
    });
  }

  private create(payload: Fields): void {
    this.port.write("message.create", { request_id: this.message.id, ...payload });
  }

  private add(text: string, kind: string | undefined): void {
    if (typeof text !== "string")
      throw new TypeError(`the text of an answer is a string, not ${typeof text}`);
    if (text === "") return;
    if (this.message.signal.aborted) throw new AgentError("stopped", "a person stopped the answer");
    if (!this.open || this.open.kind !== kind) {
      this.close();
      this.open = { id: this.port.newId(), kind };
      this.create({ message_id: this.open.id, content: text, final: false, kind });
      return;
    }
    // One line in 30 ms, not one for each token.
    if (this.buffer === "") this.port.later(() => this.flush());
    this.buffer += text;
  }

  private flush(): void {
    if (!this.open || this.buffer === "") return;
    this.port.write("message.append", { message_id: this.open.id, content: this.buffer });
    this.buffer = "";
  }
}
