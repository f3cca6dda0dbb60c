// Asks the questions of the program, and writes how they were settled: one line for each.
import { codeOf, type Log } from "../../kernel/index.ts";
import { defined } from "../../lib/util.ts";
import type { Address, Channels, QuestionInput, QuestionResult } from "../channels/index.ts";
import { programErrors } from "./errors.ts";
import type { PendingMessages } from "./pending-messages.ts";
import { encodeLine, type AskFrame, type WithdrawFrame } from "./protocol.ts";
import type { Replies } from "./replies.ts";

interface ProgramQuestionsOptions {
  readonly channels: Channels;
  readonly pendingMessages: PendingMessages;
  readonly log: Pick<Log, "warn">;
  readonly replies: Pick<Replies, "enqueue" | "closeTexts">;
  /** Seconds after which each question expires; 0 = when the program says. */
  readonly maxS: number;
}

interface AskedQuestion {
  readonly address: Address;
  readonly controller: AbortController;
  /** True after the program that asked has ended. */
  isOrphan: boolean;
}

/** Names of durable questions that the program may withdraw: as many as may be open. */
const maxDurable = 256;

/** Names of fields in errors: those of the lines. */
const lineNames: readonly (readonly [string, string])[] = [
  ['"toolCallId"', '"tool_call_id"'],
  ['"timeoutMs"', '"timeout_s"'],
];
const toLineNames = (text: string): string =>
  lineNames.reduce((renamed, [name, lineName]) => renamed.replace(name, lineName), text);

export class ProgramQuestions {
  private readonly options: ProgramQuestionsOptions;
  /** Questions of this program that are not settled, by the names that it gave them. */
  private readonly asked = new Map<string, AskedQuestion>();
  /** The withdrawals of durable questions of this program, by the same names. */
  private readonly durable = new Map<string, AbortController>();

  constructor(options: ProgramQuestionsOptions) {
    this.options = options;
  }

  /** True while a question that the program waits for is open. */
  isAsking(): boolean {
    return this.asked.size > 0;
  }

  ask(frame: AskFrame): void {
    const { pendingMessages, replies } = this.options;
    const { message_id: name, request_id: requestId, ...fields } = frame.payload;
    const request = requestId === undefined ? undefined : pendingMessages.find(requestId);
    if (requestId !== undefined && !request) {
      const isStopped = pendingMessages.findFinished(requestId)?.outcome === "stopped";
      const code = isStopped ? "stopped" : "unknown_request";
      return this.refuse(name, code, `The message "${requestId}" does not wait for a reply.`);
    }
    const address = pendingMessages.addressIn(frame);
    if (!address) {
      const text = 'Name the "request_id" of a message, or a "session_id".';
      return this.refuse(name, "invalid_question", text);
    }
    if (this.asked.has(name)) {
      const text = `"message_id": another open question is named "${name}".`;
      return this.refuse(name, "invalid_question", text);
    }
    const controller = new AbortController();
    const to = { channel: address.channel, session: address.session };
    const question: AskedQuestion = { address: to, controller, isOrphan: false };
    const input = this.toInput(fields, controller.signal);
    const isDurable = "durable" in input;
    if (isDurable) this.keepDurable(name, controller);
    else this.asked.set(name, question);
    const release = isDurable ? undefined : request?.hold();
    request?.touch();
    if (request) replies.closeTexts(request);
    const settle = (write: () => void): void => {
      if (this.asked.get(name) === question) this.asked.delete(name);
      release?.();
      if (!question.isOrphan) write();
    };
    // The queue continues as soon as the question is on its way.
    void replies.enqueue(to, () => {
      const result = request ? request.message.ask(input) : this.options.channels.ask(to, input);
      result.then(
        (settled) => settle(() => this.settled(name, to, settled)),
        (error: unknown) =>
          settle(() => this.refuse(name, codeOf(error), toLineNames((error as Error).message))),
      );
    });
  }

  withdraw({ payload }: WithdrawFrame): void {
    if (this.withdrawNamed(payload.message_id)) return;
    const text = "the program withdraws a question that is not open";
    this.options.log.warn({ message_id: payload.message_id }, text);
  }

  /** Withdraws the question with this name. @returns False if none is open. */
  withdrawNamed(name: string): boolean {
    const controller = this.asked.get(name)?.controller ?? this.durable.get(name);
    this.durable.delete(name);
    controller?.abort();
    return controller !== undefined;
  }

  /** The questions of a program end with it. */
  programEnded(how: string): void {
    for (const question of this.asked.values()) {
      question.isOrphan = true;
      question.controller.abort(programErrors.application_ended(how, true));
    }
    this.asked.clear();
    // They outlive the program. The next program chooses names of its own.
    this.durable.clear();
  }

  private keepDurable(name: string, controller: AbortController): void {
    this.durable.delete(name);
    this.durable.set(name, controller);
    const [oldest = ""] = this.durable.keys();
    if (this.durable.size > maxDurable) this.durable.delete(oldest);
  }

  private toInput(
    { tool_call_id, timeout_s, ...fields }: Omit<AskFrame["payload"], "message_id" | "request_id">,
    signal: AbortSignal,
  ): QuestionInput {
    const limitS = this.options.maxS || Infinity;
    const seconds = Math.min(typeof timeout_s === "number" ? timeout_s : Infinity, limitS);
    // The channels check the fields.
    return defined({
      ...fields,
      toolCallId: tool_call_id,
      timeoutMs: seconds === Infinity ? timeout_s : seconds * 1_000,
      signal,
    }) as unknown as QuestionInput;
  }

  /** A durable question has no result here: its answer arrives as a message. */
  private settled(
    name: string,
    { channel, session }: Address,
    result: QuestionResult | { readonly id: string },
  ): void {
    if (!("outcome" in result)) return;
    const frame = { type: "question.settled", id: name, channel, session_id: session };
    this.options.pendingMessages.writeLine(encodeLine({ ...frame, payload: result }));
  }

  private refuse(name: string, code: string, message: string): void {
    const frame = { type: "error", id: name, payload: { code, message } };
    this.options.pendingMessages.writeLine(encodeLine(frame));
  }
}
