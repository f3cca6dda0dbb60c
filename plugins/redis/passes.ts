// Messages on their way from the node of a client to the node that has its session.
import { codeOf, type Release } from "../../kernel/index.ts";
import { BoundedMap, isObject } from "../../lib/util.ts";
import { conversationsErrors } from "../conversations/errors.ts";
import type {
  Address,
  AnswerResult,
  GivenAnswer,
  InboundMessage,
  Media,
  OwnershipListener,
  PassOptions,
  PassOutcome,
  OpenQuestion,
  RunningMessage,
  Sender,
  Stopper,
  StopResult,
} from "../conversations/contract.ts";
import type { Nodes } from "./nodes.ts";

interface PassesOptions {
  readonly nodes: Nodes;
  readonly after: (ms: number, run: () => void) => Release;
  readonly passed: OwnershipListener["passed"];
  readonly stopped: OwnershipListener["stopped"];
  readonly running: OwnershipListener["running"];
  readonly answered: OwnershipListener["answered"];
  readonly questions: OwnershipListener["questions"];
}

/** A request to another node, until its reply. */
interface SentRequest<T = unknown> {
  readonly node: string;
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
}

interface SentPass {
  readonly node: string;
  readonly send: () => void;
  readonly outcome: PassOutcome;
}

type Fields = Readonly<Record<string, unknown>>;

/** A message or its outcome may get lost while a node is away, so it is sent again. */
const repeatMs = 5_000;
/** Milliseconds in which another node must report the effect of a stop or an answer. */
const requestTimeoutMs = 5_000;
/** The same for the list of running messages: a client that joins waits for it. */
const listTimeoutMs = 1_000;
/** Outcomes of received messages that are remembered, for a node that sends them again. */
const maxOutcomes = 4_096;

const encodeMedia = ({ bytes, ...media }: Media): object => ({
  ...media,
  ...(bytes && { base64: Buffer.from(bytes).toString("base64") }),
});
const encodeMessage = ({ protocol, media, ...message }: InboundMessage): object => ({
  ...message,
  ...(protocol !== undefined && { door: protocol }),
  media: media.map(encodeMedia),
});

function decodeMedia(given: unknown): Media[] {
  if (!isObject(given) || typeof given.type !== "string") return [];
  const { base64, ...media } = given;
  const bytes = typeof base64 === "string" ? { bytes: Buffer.from(base64, "base64") } : {};
  return [{ ...(media as unknown as Media), ...bytes }];
}

function decodeMessage(given: unknown): InboundMessage | undefined {
  if (!isObject(given)) return undefined;
  const { channel, session, id, content, media, at, hops } = given;
  const texts = [channel, session, id, content].every((text) => typeof text === "string");
  if (!texts || typeof at !== "number" || typeof hops !== "number") return undefined;
  if (!Array.isArray(media)) return undefined;
  const { door, ...rest } = given;
  return {
    ...(rest as unknown as InboundMessage),
    ...(typeof door === "string" && { protocol: door }),
    media: media.flatMap(decodeMedia),
  };
}

const toError = (code: unknown, message: unknown): Error =>
  Object.assign(new Error(typeof message === "string" ? message : ""), {
    name: "DoorwardError",
    code: String(code),
  });

const stopStatuses: readonly unknown[] = ["stopping", "removed", "over", "unknown"];

const answerStatuses: readonly unknown[] = ["settled", "already", "unknown", "invalid"];

function decodeStopResults(given: unknown): readonly StopResult[] | undefined {
  if (!Array.isArray(given)) return undefined;
  return given.flatMap((result: unknown): StopResult[] => {
    if (!isObject(result) || typeof result.id !== "string") return [];
    return stopStatuses.includes(result.status) ? [result as unknown as StopResult] : [];
  });
}

function decodeRunning(given: unknown): readonly RunningMessage[] | undefined {
  if (!Array.isArray(given)) return undefined;
  return given.flatMap((message: unknown): RunningMessage[] => {
    if (!isObject(message)) return [];
    const { id, at } = message;
    return typeof id === "string" && typeof at === "number" ? [{ id, at }] : [];
  });
}

function decodeQuestions(given: unknown): readonly OpenQuestion[] | undefined {
  if (!Array.isArray(given)) return undefined;
  return given.flatMap((open: unknown): OpenQuestion[] => {
    if (!isObject(open) || !isObject(open.question)) return [];
    const texts = [open.channel, open.session, open.id, open.content];
    const isWhole = texts.every((text) => typeof text === "string") && typeof open.at === "number";
    return isWhole ? [open as unknown as OpenQuestion] : [];
  });
}

export class Passes {
  /** Messages that this node has passed on since its start. */
  count = 0;
  private readonly options: PassesOptions;
  private readonly sent = new Map<number, SentPass>();
  private readonly requests = new Map<number, SentRequest>();
  /** Node and number of each received message without an outcome. */
  private readonly received = new Set<string>();
  /** The outcomes of others. */
  private readonly outcomes = new BoundedMap<string, Fields>(maxOutcomes);
  private next = 0;
  private stopTimer: Release | undefined;

  constructor(options: PassesOptions) {
    const { nodes } = options;
    this.options = options;
    nodes.handle("pass", (fields, from) => this.accept(fields, from));
    nodes.handle("outcome", (fields) => this.settle(fields));
    nodes.handle("stop", (fields, from) => void this.stopped(fields, from));
    nodes.handle("stopped", ({ i, results }) => {
      const stop = this.requests.get(Number(i));
      const decoded = decodeStopResults(results);
      if (decoded) stop?.resolve(decoded);
      else stop?.reject(conversationsErrors.not_owner());
    });
    nodes.handle("list", (fields, from) => this.listed(fields, from));
    nodes.handle("listed", ({ i, running }) => {
      const list = this.requests.get(Number(i));
      const decoded = decodeRunning(running);
      if (decoded) list?.resolve(decoded);
      else list?.reject(conversationsErrors.not_owner());
    });
    nodes.handle("questions", (fields, from) => void this.questioned(fields, from));
    nodes.handle("questioned", ({ i, questions }) => {
      const list = this.requests.get(Number(i));
      const decoded = decodeQuestions(questions);
      if (decoded) list?.resolve(decoded);
      else list?.reject(conversationsErrors.not_owner());
    });
    nodes.handle("answer", (fields, from) => void this.answered(fields, from));
    nodes.handle("answered", ({ i, result, code, text }) => {
      const answer = this.requests.get(Number(i));
      if (isObject(result) && answerStatuses.includes(result.status)) answer?.resolve(result);
      else answer?.reject(toError(code, text));
    });
    nodes.watchGone((node) => this.giveUp(node));
  }

  /** @param outcome - A function and no promise, so that entries that follow it stay behind it. */
  pass(
    node: string,
    message: InboundMessage,
    outcome: PassOutcome,
    { dedupe = false, stopped = false }: PassOptions,
  ): void {
    this.next += 1;
    this.count += 1;
    const number = this.next;
    const fields = { t: "pass", i: number, dedupe, stopped, message: encodeMessage(message) };
    const send = (): void =>
      void this.options.nodes.send(node, fields).then(
        (isThere) => {
          if (!isThere) this.reject(number, conversationsErrors.node_gone());
        },
        (error: unknown) => this.reject(number, error),
      );
    this.sent.set(number, { node, send, outcome });
    send();
    this.stopTimer ??= this.options.after(repeatMs, () => this.repeat());
  }

  /**
   * Asks a node to stop messages of a session.
   *
   * @throws not_owner if it does not have the session; node_gone if it does not answer.
   */
  stop(
    node: string,
    { channel, session }: Address,
    { id, by }: { readonly id: string | undefined; readonly by: Stopper | undefined },
  ): Promise<readonly StopResult[]> {
    return this.request(node, { t: "stop", channel, session, id, by });
  }

  /**
   * Asks a node to answer a question.
   *
   * @throws not_owner if it does not have the session; node_gone if it does not answer; its error.
   */
  answer(node: string, [address, id, answer, by, via]: GivenAnswer): Promise<AnswerResult> {
    const { channel, session } = address;
    return this.request(node, { t: "answer", channel, session, id, answer, by, via });
  }

  /**
   * Asks a node for the messages of a session that its application works on.
   *
   * @throws not_owner if it does not have the session; node_gone if it does not answer.
   */
  running(node: string, { channel, session }: Address): Promise<readonly RunningMessage[]> {
    return this.request(node, { t: "list", channel, session }, listTimeoutMs);
  }

  /**
   * Lists the open questions of a session that another node has.
   *
   * @throws not_owner if it does not have the session; node_gone if it does not answer.
   */
  questions(node: string, { channel, session }: Address): Promise<readonly OpenQuestion[]> {
    return this.request(node, { t: "questions", channel, session }, listTimeoutMs);
  }

  private async request<T>(node: string, fields: Fields, timeoutMs = requestTimeoutMs): Promise<T> {
    const { nodes, after } = this.options;
    const i = (this.next += 1);
    let cancel: Release | undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        const gone = (): void => reject(conversationsErrors.node_gone());
        this.requests.set(i, { node, resolve: resolve as SentRequest["resolve"], reject });
        cancel = after(timeoutMs, gone);
        const sent = nodes.send(node, { ...fields, i });
        sent.then((isThere) => void (isThere || gone()), reject);
      });
    } finally {
      cancel?.();
      this.requests.delete(i);
    }
  }

  private repeat(): void {
    this.stopTimer = undefined;
    if (this.sent.size === 0) return;
    for (const { send } of [...this.sent.values()]) send();
    this.stopTimer = this.options.after(repeatMs, () => this.repeat());
  }

  private reject(number: number, error: unknown): void {
    const pass = this.sent.get(number);
    this.sent.delete(number);
    pass?.outcome.rejected(error);
  }

  private giveUp(node: string): void {
    for (const [number, pass] of [...this.sent])
      if (pass.node === node) this.reject(number, conversationsErrors.node_gone());
    for (const request of this.requests.values())
      if (request.node === node) request.reject(conversationsErrors.node_gone());
  }

  private settle({ i, s, code, text }: Fields): void {
    if (typeof i !== "number") return;
    const pass = this.sent.get(i);
    if (!pass) return;
    if (s !== "accepted" && s !== "duplicate") return this.reject(i, toError(code, text));
    this.sent.delete(i);
    pass.outcome.accepted(s);
  }

  private accept({ i, dedupe, stopped, message: given }: Fields, from: string | undefined): void {
    const message = decodeMessage(given);
    if (typeof i !== "number" || from === undefined || !message) return;
    const key = `${from} ${i}`;
    const known = this.outcomes.get(key);
    if (known) return this.reply(from, known);
    if (this.received.has(key)) return;
    this.received.add(key);
    const settle = (fields: Fields): void => {
      const outcome = { t: "outcome", i, ...fields };
      this.received.delete(key);
      this.outcomes.set(key, outcome);
      this.reply(from, outcome);
    };
    const outcome: PassOutcome = {
      accepted: (s) => settle({ s }),
      rejected: (error) => settle({ code: codeOf(error), text: (error as Error).message }),
    };
    this.options.passed(message, outcome, {
      dedupe: dedupe === true,
      stopped: stopped === true,
    });
  }

  private async stopped(
    { i, channel, session, id, by }: Fields,
    from: string | undefined,
  ): Promise<void> {
    const isValid = typeof i === "number" && from !== undefined;
    if (!isValid || typeof channel !== "string" || typeof session !== "string") return;
    const wanted = typeof id === "string" ? id : undefined;
    const person = isObject(by) ? (by as unknown as Sender) : undefined;
    const address = { channel, session };
    try {
      const results = await this.options.stopped(address, wanted, person);
      this.reply(from, { t: "stopped", i, results });
    } catch {
      // The session has moved, so the other node asks again.
      this.reply(from, { t: "stopped", i });
    }
  }

  private listed({ i, channel, session }: Fields, from: string | undefined): void {
    const isValid = typeof i === "number" && from !== undefined;
    if (!isValid || typeof channel !== "string" || typeof session !== "string") return;
    try {
      this.reply(from, { t: "listed", i, running: this.options.running({ channel, session }) });
    } catch {
      // The session has moved, so the other node asks again.
      this.reply(from, { t: "listed", i });
    }
  }

  private async questioned(
    { i, channel, session }: Fields,
    from: string | undefined,
  ): Promise<void> {
    const isValid = typeof i === "number" && from !== undefined;
    if (!isValid || typeof channel !== "string" || typeof session !== "string") return;
    try {
      const questions = await this.options.questions({ channel, session });
      this.reply(from, { t: "questioned", i, questions });
    } catch {
      // The session has moved, so the other node asks again.
      this.reply(from, { t: "questioned", i });
    }
  }

  private async answered(
    { i, channel, session, id, answer, by, via }: Fields,
    from: string | undefined,
  ): Promise<void> {
    const isValid = typeof i === "number" && from !== undefined && typeof id === "string";
    if (!isValid || typeof channel !== "string" || typeof session !== "string") return;
    if (!isObject(answer)) return;
    const person = isObject(by) ? (by as unknown as Sender) : undefined;
    const given = [{ channel, session }, id, answer, person, String(via)] as unknown;
    try {
      const result = await this.options.answered(...(given as GivenAnswer));
      this.reply(from, { t: "answered", i, result });
    } catch (error) {
      const { message: text } = error as Error;
      this.reply(from, { t: "answered", i, code: codeOf(error), text });
    }
  }

  private reply(node: string, outcome: Fields): void {
    this.options.nodes.send(node, outcome).catch(() => undefined);
  }
}
