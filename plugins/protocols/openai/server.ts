// Serves the addresses below /v1: models, chat completions and responses.
import type { JsonObject } from "../fields.ts";
import type { Protocol } from "../protocol.ts";
import { refuse, type Refusal } from "../errors.ts";
import {
  decodeName,
  prepareTurn,
  sessionOf,
  startRun,
  withBody,
  questionBefore,
  type QuestionBefore,
} from "../requests.ts";
import { answerQuestions } from "../answers.ts";
import type { Call, JsonReply, Route } from "../server.ts";
import { productOf, toHeaderText } from "../session.ts";
import { Chains, type Continuation } from "./chains.ts";
import { createChatFormat } from "./chat.ts";
import type { OpenaiConfig } from "./config.ts";
import { approvalOf, type Approvals } from "./approvals.ts";
import { exchange, questionHeader, questionOpen, type ResponseFormat } from "./exchange.ts";
import { findFileRoute } from "./files.ts";
import { fromPlace, nameOfResponse, toCallPlace, toResponseId } from "./places.ts";
import { assertModel, parseChatRequest, type ParsedRequest } from "./request.ts";
import { createResponseFormat } from "./responses.ts";
import { parseResponseRequest } from "./responses-request.ts";
import { readIds, retryKeyOf, isRetry, type RequestIds } from "./session.ts";
import { recogniseTask, replyToTask, type TaskKind } from "./tasks.ts";
import { placeOfCall } from "../client-calls.ts";
import { RecentMap } from "../recent-map.ts";
import { EventWriter } from "../sse.ts";
import { openEnd } from "../follower.ts";
import { toErrorBody } from "./errors.ts";

/** The ids of a request that a client may repeat. */
interface EarlierRequest {
  readonly ids: RequestIds;
  /** The session of the channel. */
  readonly session: string;
}

/** A parsed request. */
interface ParsedOperation {
  readonly parsed: ParsedRequest;
  /** @param key - 32 hexadecimal digits, which no other response has. */
  readonly createFormat: (key: string, name: string) => ResponseFormat;
  /** Id of the response that it continues. */
  readonly previousId?: string | undefined;
  /** Answers to approvals, in place of a message. */
  readonly approvals?: Approvals | undefined;
}

/** The rest of the id of a message is 32 hexadecimal digits. */
const keyOfMessage = (id: string): string => id.replace(/^oa:/, "");

const modelPath = /^\/v1\/models\/([^/]+)$/;

export class OpenaiRoutes {
  private readonly protocol: Protocol<OpenaiConfig>;
  /** Requests for titles and the like, by kind. */
  readonly tasks: Record<TaskKind, number> = {
    title: 0,
    tags: 0,
    follow_ups: 0,
    queries: 0,
    autocomplete: 0,
    other: 0,
  };
  /** Unix seconds. */
  private readonly startedAt: number;
  /** Sessions that have had a response lately. */
  private readonly answered: RecentMap<true>;
  /** Requests that a library may repeat on its own. */
  private readonly retries: RecentMap<EarlierRequest>;
  private readonly chains: Chains;

  constructor(protocol: Protocol<OpenaiConfig>) {
    const { clock } = protocol;
    this.protocol = protocol;
    this.answered = new RecentMap({ max: 1_000, keepMs: 3_600_000, clock });
    this.retries = new RecentMap({ max: 1_000, keepMs: 600_000, clock });
    this.chains = new Chains(clock);
    this.startedAt = Math.floor(clock.now() / 1_000);
  }

  /** The conversation of a session is deleted. */
  clear(session: string): void {
    this.answered.remove((_, key) => key === session);
  }

  readonly find = (path: string): Route | readonly Route[] | undefined => {
    if (path === "/v1/models")
      return { method: "GET", run: async () => ({ value: this.listModels() }) };
    if (path === "/v1/health")
      return { method: "GET", run: async () => ({ value: this.health() }) };
    const [, model] = modelPath.exec(path) ?? [];
    if (model !== undefined)
      return { method: "GET", run: async () => ({ value: this.findModel(model) }) };
    if (path !== "/v1/chat/completions" && path !== "/v1/responses")
      return findFileRoute(this.protocol, path);
    return { method: "POST", run: (call) => this.complete(call, path) };
  };

  /** Clients ask whether requests can succeed. */
  private health(): object {
    if (this.protocol.isOpen()) return { status: "ok" };
    const headers = { "Retry-After": "1" };
    throw refuse("not_running", "Doorward is starting or stopping.", { headers });
  }

  private listModels(): object {
    const { model, models } = this.protocol.config();
    const names = [...new Set([model, ...models])];
    return { object: "list", data: names.map((name) => this.toModel(name)) };
  }

  private toModel(id: string): object {
    return { id, object: "model", created: this.startedAt, owned_by: "doorward" };
  }

  private findModel(encoded: string): object {
    const name = decodeName(encoded, "model");
    assertModel(name, this.protocol.config());
    return this.toModel(name);
  }

  private complete(call: Call, path: string): Promise<JsonReply | undefined> {
    const { protocol } = this;
    const parse = (body: JsonObject): ParsedOperation => this.parse(path, body);
    return withBody(protocol, call, parse, async (operation, release, digest) => {
      const { parsed, createFormat, approvals } = operation;
      const known = await this.findPrevious(call, operation.previousId);
      if (approvals) {
        release();
        return this.continueWith(call, operation, known, approvals);
      }
      const task = recogniseTask(call.request, parsed);
      if (task) this.tasks[task.kind] += 1;
      if (task && protocol.config().tasks === "local") {
        release();
        const name = `task-${protocol.newId()}`;
        return this.replyWith(call, operation, name, replyToTask(task, parsed.turn.content));
      }
      // A task has a session of its own, so the conversation does not contain it.
      const name = task ? `task-${protocol.newId()}` : known;
      const { user } = parsed;
      const asked = this.askedIn(parsed);
      const own = readIds(call.request, { user, newId: protocol.newId, known: name, asked });
      const earlier = this.joinEarlier(call, own, digest);
      const isFirst = own.isNew && earlier.messageId === own.messageId;
      const chain = isFirst ? this.findChain(call, parsed, own.name) : undefined;
      const ids = { ...earlier, ...(chain && { name: chain.name }) };
      const session = await sessionOf(protocol, call, ids.name, ids.param);
      if (ids.key !== undefined) this.retries.set(ids.key, { ids, session });
      const turn = await prepareTurn(protocol, call, session, parsed.turn);
      this.answered.set(session, true);
      const { messageId: id, isRepeatable, key } = ids;
      const isExpendable = key !== undefined;
      const before = await questionBefore(protocol, call, { session, id, turn });
      if (before) {
        release();
        return this.explain(call, operation, ids.name, { session, ...before });
      }
      const place = toCallPlace(ids.name);
      const message = { session, id, turn, isRepeatable, isExpendable, place, settled: release };
      const run = startRun(protocol, call, message);
      const headers = {
        "X-Doorward-Session": toHeaderText(ids.name),
        "X-Request-Id": id,
        ...(parsed.ignored !== "" && { "X-Doorward-Ignored": parsed.ignored }),
      };
      const { stream: isStreamed } = parsed;
      const { watcher } = chain ?? {};
      const format = createFormat(keyOfMessage(id), ids.name);
      const isFormed = parsed.turn.output !== undefined;
      const options = { run, format, headers, isStreamed, session, watcher, isFormed };
      return exchange(protocol, call, options);
    });
  }

  /** Says why a message is not delivered. */
  private explain(
    call: Call,
    operation: ParsedOperation,
    name: string,
    { session, id, text }: QuestionBefore & { readonly session: string },
  ): JsonReply | undefined {
    if (operation.parsed.turn.output)
      throw questionOpen(id, this.protocol.askAddress(call.request, session, id));
    const headers = { "X-Doorward-Session": toHeaderText(name), ...questionHeader(id) };
    return this.replyWith(call, operation, name, text, headers);
  }

  /** Answers approvals, and sends the rest of the answer that has asked for them. */
  private async continueWith(
    call: Call,
    operation: ParsedOperation,
    known: string | undefined,
    { name: told, answers, requests }: Approvals,
  ): Promise<JsonReply | undefined> {
    const { protocol } = this;
    const { parsed, createFormat } = operation;
    const { user, stream: isStreamed } = parsed;
    const { newId } = protocol;
    const { name, param } = readIds(call.request, { user, newId, known: known ?? told });
    const session = await sessionOf(protocol, call, name, param);
    this.answered.set(session, true);
    const ids = answers.map(({ id }) => id);
    // Without the response before, the client shows that it has received the questions.
    const isKnown = known !== undefined || this.haveAsked(session, ids, requests);
    const { run, from } = isKnown
      ? await answerQuestions(protocol, session, answers, call.access)
      : { run: undefined, from: undefined };
    const headers = { "X-Doorward-Session": toHeaderText(name) };
    if (!run) return this.replyWith(call, operation, name, "This question is no longer open.");
    const format = createFormat(protocol.newId(), name);
    return exchange(protocol, call, { run, format, headers, isStreamed, session, from });
  }

  /** Whether the session has asked these questions with the same names and arguments. */
  private haveAsked(session: string, ids: readonly string[], requests: Approvals["requests"]) {
    const { runs } = this.protocol;
    return ids.every((id) => {
      const asked = runs.asking(session, [id])?.question(id);
      const [own, given] = [asked && approvalOf(asked), requests.get(id)];
      return own !== undefined && own.name === given?.name && own.arguments === given.arguments;
    });
  }

  /** Takes the ids of the request that the client repeats on its own, unless it was stopped. */
  private joinEarlier(call: Call, own: RequestIds, digest: string | undefined): RequestIds {
    if (digest === undefined || own.isRepeatable) return own;
    const { retries, protocol } = this;
    const { key: address } = protocol.http.peer(call.request);
    const key = retryKeyOf(call.request, address, digest);
    const earlier = isRetry(call.request) ? retries.get(key) : undefined;
    const kept = earlier && protocol.runs.find(earlier.session, earlier.ids.messageId);
    if (earlier && kept && !kept.isStopped) return earlier.ids;
    return { ...own, isRepeatable: true, key };
  }

  /** The name of the session whose answer asked for the results of a request: their ids tell. */
  private askedIn({ turn: { toolResults = [] } }: ParsedRequest): string | undefined {
    const [place, ...others] = new Set(toolResults.map(({ id }) => placeOfCall(id)));
    return place === undefined || others.length > 0 ? undefined : fromPlace(place);
  }

  private findChain(call: Call, { turn }: ParsedRequest, newName: string): Continuation {
    const { http, config } = this.protocol;
    const client = `${http.peer(call.request).address} ${productOf(call.request)}`;
    const from = config().sessions_from;
    return this.chains.find({ call, client, turn, from, newName });
  }

  private parse(path: string, body: JsonObject): ParsedOperation {
    const created = Math.floor(this.protocol.clock.now() / 1_000);
    if (path === "/v1/chat/completions") {
      const parsed = parseChatRequest(body, this.protocol);
      const ids = { id: `chatcmpl-${this.protocol.newId()}`, created, model: parsed.model };
      return { parsed, createFormat: () => createChatFormat(ids, parsed.includeUsage) };
    }
    const parsed = parseResponseRequest(body, this.protocol);
    const { previousId, approvals, model } = parsed;
    const createFormat = (key: string, name: string): ResponseFormat =>
      createResponseFormat(
        { id: toResponseId(key, name), key, session: name, created, model },
        parsed,
      );
    return { parsed, createFormat, previousId, approvals };
  }

  /** @returns The name of the session of an earlier response, which its id tells. */
  private async findPrevious(call: Call, id: string | undefined): Promise<string | undefined> {
    if (id === undefined) return undefined;
    const param = "previous_response_id";
    const name = nameOfResponse(id);
    const session =
      name === undefined ? undefined : await sessionOf(this.protocol, call, name, param);
    if (session !== undefined && (await this.hasAnswered(session))) return name;
    const message = "There is no response of this id, or it is no longer kept.";
    throw refuse("previous_response_not_found", message, { param });
  }

  private async hasAnswered(session: string): Promise<boolean> {
    if (this.answered.get(session)) return true;
    const address = { channel: "pico", session };
    const { items } = await this.protocol.channels.history(address, { limit: 1 });
    return items.length > 0;
  }

  /** Sends a reply that no application wrote. */
  private replyWith(
    call: Call,
    { parsed, createFormat }: ParsedOperation,
    name: string,
    text: string,
    headers: Readonly<Record<string, string>> = {},
  ): JsonReply | undefined {
    const format = createFormat(this.protocol.newId(), name);
    if (!parsed.stream) return { value: format.whole({ text, thought: "" }, openEnd), headers };
    const sink = format.stream(new EventWriter(this.protocol, call, headers));
    sink.text(text);
    sink.over(openEnd);
    return undefined;
  }
}

/** Paths of clients whose base URL lacks /v1, and of clients of Ollama, with their methods. */
export const mistakes = [
  ["POST", "/chat/completions"],
  ["POST", "/completions"],
  ["POST", "/embeddings"],
  ["POST", "/responses"],
  ["GET", "/models"],
  ["POST", "/api/chat"],
  ["POST", "/api/embed"],
  ["POST", "/api/embeddings"],
  ["POST", "/api/generate"],
  ["POST", "/api/show"],
  ["GET", "/api/ps"],
  ["GET", "/api/tags"],
  ["GET", "/api/version"],
] as const;

const served =
  "Doorward serves GET /v1/models, GET /v1/models/NAME, GET /v1/health, " +
  "POST /v1/chat/completions and POST /v1/responses, and /v1/files with the plugin media.";

const isOllama = (path: string): boolean => path.startsWith("/api/");
const hasBase = (path: string): boolean => /^\/v1(?!\/v1(?:\/|$))/.test(path);

/** @param address - The base URL. */
export function explainAddress(path: string, address: string): string {
  const base = `The base URL ends in /v1: ${address}`;
  if (isOllama(path)) return `Set the client to an OpenAI API, not to Ollama. ${base}`;
  if (!hasBase(path)) return base;
  if (path === "/v1/embeddings") return `Embeddings are not offered. ${served}`;
  if (path !== "/v1/completions") return `There is nothing at this address. ${base}. ${served}`;
  return (
    "Completions of plain text are not offered. Let the client use chat: in LlamaIndex " +
    `OpenAILike(is_chat_model=True), in editors a chat model without autocompletion. ${served}`
  );
}

/** Clients of Ollama read a text. */
export const toBody = (refusal: Refusal, path: string): object =>
  isOllama(path) ? { error: refusal.message } : toErrorBody(refusal);
