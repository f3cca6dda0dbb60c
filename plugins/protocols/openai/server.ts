// Serves the addresses below /v1: models, chat completions and responses.
import type { JsonObject } from "../fields.ts";
import type { Protocol } from "../protocol.ts";
import { refuse, type Refusal } from "../errors.ts";
import {
  answerQuestions,
  decodeName,
  prepareTurn,
  sessionOf,
  startRun,
  withBody,
  type ClientAnswer,
} from "../requests.ts";
import type { Call, JsonReply, Route } from "../server.ts";
import { productOf, toHeaderText } from "../session.ts";
import { Chains, type Continuation } from "./chains.ts";
import { createChatFormat, type ChatIds } from "./chat.ts";
import type { OpenaiConfig } from "./config.ts";
import { exchange, type ResponseFormat } from "./exchange.ts";
import { findFileRoute } from "./files.ts";
import { assertModel, parseChatRequest, type ParsedRequest } from "./request.ts";
import { createResponseFormat } from "./responses.ts";
import { parseResponseRequest } from "./responses-request.ts";
import { readIds, retryKeyOf, isRetry, type RequestIds } from "./session.ts";
import { recogniseTask, replyToTask, type TaskKind } from "./tasks.ts";
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

/** A parsed request. `known`: the session of the response that it continues. */
interface ParsedOperation {
  readonly parsed: ParsedRequest;
  readonly format: ResponseFormat;
  readonly known?: string | undefined;
  readonly responseId?: string;
  /** Answers to approvals, in place of a message. */
  readonly approvals?: readonly ClientAnswer[];
}

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
  /** Response -> name of its session. */
  private readonly responses: RecentMap<string>;
  /** Requests that a library may repeat on its own. */
  private readonly retries: RecentMap<EarlierRequest>;
  private readonly chains: Chains;

  constructor(protocol: Protocol<OpenaiConfig>) {
    const { clock } = protocol;
    this.protocol = protocol;
    this.responses = new RecentMap({ max: 1_000, keepMs: 3_600_000, clock });
    this.retries = new RecentMap({ max: 1_000, keepMs: 600_000, clock });
    this.chains = new Chains(clock);
    this.startedAt = Math.floor(clock.now() / 1_000);
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
      const { parsed, format, known, responseId, approvals = [] } = operation;
      if (approvals.length > 0) {
        release();
        return this.continueWith(call, operation, approvals);
      }
      const task = recogniseTask(call.request, parsed);
      if (task) this.tasks[task.kind] += 1;
      if (task && protocol.config().tasks === "local") {
        release();
        return this.replyWith(call, operation, replyToTask(task, parsed.turn.content));
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
      if (responseId !== undefined) this.responses.set(responseId, ids.name);
      const { messageId: id, isRepeatable, key } = ids;
      const isExpendable = key !== undefined;
      const message = { session, id, turn, isRepeatable, isExpendable, settled: release };
      const run = startRun(protocol, call, message);
      const headers = {
        "X-Doorward-Session": toHeaderText(ids.name),
        "X-Request-Id": id,
        ...(parsed.ignored !== "" && { "X-Doorward-Ignored": parsed.ignored }),
      };
      const { stream: isStreamed } = parsed;
      const { watcher } = chain ?? {};
      return exchange(protocol, call, { run, format, headers, isStreamed, session, watcher });
    });
  }

  /** Answers approvals, and sends the rest of the answer that has asked for them. */
  private async continueWith(
    call: Call,
    operation: ParsedOperation,
    approvals: readonly ClientAnswer[],
  ): Promise<JsonReply | undefined> {
    const { protocol } = this;
    const { parsed, format, known, responseId } = operation;
    const { user, stream: isStreamed } = parsed;
    const { name, param } = readIds(call.request, { user, newId: protocol.newId, known });
    const session = await sessionOf(protocol, call, name, param);
    if (responseId !== undefined) this.responses.set(responseId, name);
    const ids = approvals.map(({ id }) => id);
    const { kept } = await answerQuestions(protocol, session, approvals, call.access);
    const headers = { "X-Doorward-Session": toHeaderText(name) };
    if (!kept) return this.replyWith(call, operation, "This question is no longer open.");
    const from = kept.markOfLast(ids);
    return exchange(protocol, call, { run: kept, format, headers, isStreamed, session, from });
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

  /** The name of the session whose answer asked for the results of a request. */
  private askedIn({ turn: { toolResults } }: ParsedRequest): string | undefined {
    const { calls, config, name } = this.protocol;
    const session = toolResults && calls.sessionOf(toolResults);
    return config().sessions === "shared" ? session : session?.slice(name.length + 1);
  }

  private findChain(call: Call, { turn }: ParsedRequest, newName: string): Continuation {
    const { http, config } = this.protocol;
    const client = `${http.peer(call.request).address} ${productOf(call.request)}`;
    const from = config().sessions_from;
    return this.chains.find({ call, client, turn, from, newName });
  }

  private parse(path: string, body: JsonObject): ParsedOperation {
    if (path === "/v1/chat/completions") {
      const parsed = parseChatRequest(body, this.protocol);
      const ids = this.newIds("chatcmpl-", parsed);
      return { parsed, format: createChatFormat(ids, parsed.includeUsage) };
    }
    const parsed = parseResponseRequest(body, this.protocol);
    const { previousId } = parsed;
    const known = previousId === undefined ? undefined : this.findResponse(previousId);
    const ids = this.newIds("resp_", parsed);
    const format = createResponseFormat(ids, parsed);
    return { parsed, format, known, responseId: ids.id, approvals: parsed.approvals };
  }

  /** @returns The name of the session of an earlier response. */
  private findResponse(id: string): string {
    const name = this.responses.get(id);
    if (name !== undefined) return name;
    const message = "There is no response of this id, or it is older than an hour.";
    throw refuse("previous_response_not_found", message, { param: "previous_response_id" });
  }

  private newIds(prefix: string, { model }: Pick<ParsedRequest, "model">): ChatIds {
    const { clock, newId } = this.protocol;
    const created = Math.floor(clock.now() / 1_000);
    return { id: prefix + newId(), created, model };
  }

  /** Sends a reply that no application wrote. */
  private replyWith(
    call: Call,
    { parsed, format }: ParsedOperation,
    text: string,
  ): JsonReply | undefined {
    if (!parsed.stream) return { value: format.whole({ text, thought: "" }, openEnd) };
    const sink = format.stream(new EventWriter(this.protocol, call));
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
