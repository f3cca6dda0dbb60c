// One conversation of an editor: its link to the channel, its prompts and its questions.
import { randomUUID } from "node:crypto";
import { RpcError, rpcCodes, type ContentBlock } from "../../lib/acp-wire/index.ts";
import type {
  ChatEnd,
  ChatHandlers,
  ChatStateChange,
  HistoryTurn,
} from "../../lib/pico-link/index.ts";
import type { PicoLink } from "../../plugins/pico-client/index.ts";
import { exitStatusOf } from "../client/exit-status.ts";
import { PlainTurns } from "../client/plain-turns.ts";
import { errorReason } from "../client/session.ts";
import { sanitizeLine } from "../client/text.ts";
import { toMessage } from "./content.ts";
import { EditorQuestions } from "./questions.ts";
import { Updates } from "./updates.ts";

/** Opens the link of a conversation. */
export type OpenLink = (
  sessionId: string,
  handlers: ChatHandlers,
) => Promise<{ readonly link: PicoLink; close(): Promise<void> }>;

interface SessionOptions {
  readonly id: string;
  readonly cwd: string;
  readonly openLink: OpenLink;
  readonly notify: (method: string, params: object) => void;
  readonly request: (method: string, params: object, signal: AbortSignal) => Promise<unknown>;
  readonly showsForms: () => boolean;
}

interface Prompt {
  readonly resolve: (stopReason: string) => void;
  readonly reject: (error: RpcError) => void;
}

const stopReasons: Readonly<Record<string, string>> = {
  stop: "end_turn",
  length: "max_tokens",
  content_filter: "refusal",
  stopped: "cancelled",
};

const failure = (message: string, code?: string): RpcError =>
  new RpcError(rpcCodes.internal, sanitizeLine(message), code === undefined ? undefined : { code });

/** Turns of the history that are replayed to an editor. */
const maxTurns = 2_000;
const pageSize = 200;

export class EditorSession {
  readonly id: string;
  readonly cwd: string;
  private readonly options: SessionOptions;
  private updates: Updates;
  private readonly questions: EditorQuestions;
  /** Message id -> its prompt, until the answer has ended. */
  private readonly prompts = new Map<string, Prompt>();
  /** Handles what the link reports before the editor knows the session. */
  private held: (() => void)[] | undefined = [];
  private link: PicoLink | undefined;
  private end: (() => Promise<void>) | undefined;
  private wasOpen = false;
  /** Missed messages are read. */
  private catching: Promise<void> | undefined;
  private settleOpen: ((problem?: RpcError) => void) | undefined;
  private readonly plain = new PlainTurns(() => {
    if (!this.link?.reportsEnds()) this.finishFirst();
  });

  constructor(options: SessionOptions) {
    this.options = options;
    this.id = options.id;
    this.cwd = options.cwd;
    this.updates = this.createUpdates();
    this.questions = new EditorQuestions({
      sessionId: options.id,
      updates: () => this.updates,
      request: options.request,
      answer: (id, answer) => this.link!.answer(id, answer),
      showsForms: options.showsForms,
    });
  }

  /**
   * Opens the link.
   *
   * @throws RpcError if the server rejects the connection or cannot be reached.
   */
  async open(): Promise<void> {
    const opened = new Promise<void>((resolve, reject) => {
      this.settleOpen = (problem) => (problem ? reject(problem) : resolve());
    });
    opened.catch(() => undefined); // Opening may fail first.
    const { link, close } = await this.options.openLink(this.id, this.handlers());
    this.link = link;
    this.end = close;
    await opened;
  }

  /** Sends the history to the editor. */
  async replay(): Promise<void> {
    this.updates = this.createUpdates();
    const turns = await this.readHistory(() => true);
    if (turns.length >= maxTurns) this.updates.say("Earlier messages are in the dashboard.");
    for (const turn of turns) this.updates.past(turn);
  }

  /** Reads the last turns, oldest first, while `needsMore` and at most `maxTurns`. */
  private async readHistory(
    needsMore: (read: readonly HistoryTurn[]) => boolean,
  ): Promise<readonly HistoryTurn[]> {
    const turns: HistoryTurn[] = [];
    let before: string | undefined;
    do {
      const page = await this.link!.history({ limit: pageSize, ...(before && { before }) });
      turns.unshift(...page.items);
      before = page.before;
    } while (before !== undefined && turns.length < maxTurns && needsMore(turns));
    return turns;
  }

  /** Handles the held events, once the editor knows the session. */
  release(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const run of held) run();
  }

  /** @returns The stop reason. Aborting `signal` stops the answer. */
  async prompt(blocks: readonly ContentBlock[], signal: AbortSignal): Promise<string> {
    const message = toMessage(blocks);
    const id = randomUUID();
    const ended = new Promise<string>((resolve, reject) => {
      this.prompts.set(id, { resolve, reject });
    });
    // At the end of the connection, the answer goes on.
    const stop = (): void => {
      if ((signal.reason as Partial<RpcError>).code === rpcCodes.cancelled) void this.stop(id);
    };
    signal.addEventListener("abort", stop, { once: true });
    this.link!.send({ ...message, id }).catch((error: unknown) => this.refused(id, error));
    try {
      return await ended;
    } finally {
      signal.removeEventListener("abort", stop);
      this.prompts.delete(id);
    }
  }

  /** Stops all answers that this editor waits for. */
  cancel(): void {
    for (const id of this.prompts.keys()) void this.stop(id);
  }

  async close(): Promise<void> {
    this.questions.close();
    for (const { resolve } of this.prompts.values()) resolve("cancelled");
    await this.end?.();
  }

  private createUpdates(): Updates {
    return new Updates((update) =>
      this.options.notify("session/update", { sessionId: this.id, update }),
    );
  }

  private handlers(): ChatHandlers {
    const whenKnown =
      <T>(handle: (value: T) => void) =>
      (value: T): void => {
        if (this.held) this.held.push(() => handle(value));
        else handle(value);
      };
    return {
      onState: (change) => this.changed(change),
      onFrame: whenKnown(this.plain.accept),
      onQuestion: whenKnown(this.questions.changed),
      onUpdate: whenKnown((message) => {
        if (!this.questions.has(message.id)) this.updates.message(message);
        if (message.assumed === true) this.plain.assumeEnd();
      }),
      onTurn: whenKnown((turn) => this.updates.turn(turn)),
      onEnd: whenKnown((end) => {
        if (!this.catching) return this.ended(end);
        // The missed messages belong to the prompt, so they come before its end.
        void this.catching.then(() => this.ended(end));
      }),
      onGap: whenKnown(({ reason }) => {
        if (reason === "epoch_changed") this.failAll("The server was restarted: send it again.");
        else
          this.catching ??= this.catchUp().finally(() => {
            this.catching = undefined;
          });
      }),
    };
  }

  private changed(change: ChatStateChange): void {
    const { to } = change;
    if (to === "open") {
      const isAgain = this.wasOpen;
      this.wasOpen = true;
      this.settleOpen?.();
      if (isAgain) this.questions.askAgain();
      return;
    }
    const exit = exitStatusOf(change, this.wasOpen);
    if (!exit) return;
    this.settleOpen?.(failure(exit.sentence, exit.code));
    this.failAll(exit.sentence, exit.code);
  }

  private failAll(sentence: string, code?: string): void {
    for (const { reject } of this.prompts.values()) reject(failure(sentence, code));
  }

  /** Reads the messages and ends of answers that the server no longer sends. */
  private async catchUp(): Promise<void> {
    const missed = new Set(this.prompts.keys());
    try {
      const turns = await this.readHistory(
        (read) => ![...missed].every((id) => read.some(({ requestId }) => requestId === id)),
      );
      for (const turn of turns) {
        const isOwn = turn.inReplyTo !== undefined && missed.has(turn.inReplyTo);
        if (isOwn && !this.questions.has(turn.id)) this.updates.past(turn);
      }
      for (const { requestId, outcome, code } of turns)
        if (requestId !== undefined && outcome !== undefined)
          this.ended({ requestId, outcome, finishReason: "stop", ...(code && { code }) });
    } catch (error) {
      const { message } = errorReason(error);
      this.updates.say(`Messages are missing, and the history cannot be read: ${message}`);
    }
  }

  private ended({ requestId, outcome, code, finishReason }: ChatEnd): void {
    this.updates.end(requestId, outcome === "completed");
    const prompt = this.prompts.get(requestId);
    if (!prompt) return;
    if (outcome === "failed")
      prompt.reject(failure(`The answer has failed: ${code ?? "unknown error"}.`, code));
    else if (outcome === "stopped") prompt.resolve("cancelled");
    else prompt.resolve(stopReasons[finishReason] ?? "end_turn");
  }

  /** A server that does not report ends answers in order. */
  private finishFirst(): void {
    const [first] = this.prompts.values();
    first?.resolve("end_turn");
  }

  private refused(id: string, error: unknown): void {
    const { code, message } = errorReason(error);
    const prompt = this.prompts.get(id);
    if (code === "stopped") prompt?.resolve("cancelled");
    else prompt?.reject(failure(message, code));
  }

  /** Ends a prompt whose answer will not end by itself. */
  private async stop(id: string): Promise<void> {
    const stopped = await this.link!.stop(id).catch(() => []);
    const isStopping = stopped.some(
      ({ requestId, status }) => requestId === id && status === "stopping",
    );
    if (!isStopping) this.prompts.get(id)?.resolve("cancelled");
  }
}
