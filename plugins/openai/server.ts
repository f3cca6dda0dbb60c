// Serves the addresses below /v1: checks the request, delivers its message, writes the response.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock, Log } from "../../kernel/index.ts";
import { readJson, Refusal, type Gate, type JsonBody, type Runs } from "../doors/index.ts";
import type { PicoDoor } from "../pico-server/index.ts";
import { createChatFormat, type ChatIds } from "./chat.ts";
import type { OpenaiConfig } from "./config.ts";
import { toErrorBody, toRefusal } from "./errors.ts";
import { exchange, streamText, type ResponseFormat } from "./exchange.ts";
import { parseChatRequest, type ParsedRequest } from "./request.ts";
import { createResponseFormat } from "./responses.ts";
import { parseResponseRequest, ResponseSessions } from "./responses-request.ts";
import { readHops, readIds, toHeaderText, type RequestIds } from "./session.ts";
import { recogniseTask, replyToTask, type Task, type TaskKind } from "./tasks.ts";

type HeaderMap = Readonly<Record<string, string>>;

interface ServerOptions {
  readonly config: () => OpenaiConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly gate: Gate;
  readonly door: PicoDoor;
  readonly runs: Runs;
  /** True while messages can be delivered. */
  readonly isOpen: () => boolean;
  readonly countTask: (kind: TaskKind) => void;
}

/** One request with a valid token. */
interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** CORS headers of an allowed page. */
  readonly cors: HeaderMap;
}

/** A message for the application and the form of its answer. */
interface Delivery {
  readonly parsed: ParsedRequest;
  readonly ids: RequestIds;
  readonly format: ResponseFormat;
  readonly body: JsonBody;
}

/** A parsed request. `known`: the session of the response that it continues. */
interface ParsedOperation {
  readonly parsed: ParsedRequest;
  readonly format: ResponseFormat;
  readonly known?: string | undefined;
  readonly responseId?: string;
}

const methods: Readonly<Record<string, "GET" | "POST">> = {
  "/v1/models": "GET",
  "/v1/chat/completions": "POST",
  "/v1/responses": "POST",
};
const modelPath = /^\/v1\/models\/([^/]+)$/;

function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: HeaderMap,
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    "Cache-Control": "no-store",
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

function decodeModel(path: string): string | undefined {
  const [, encoded] = modelPath.exec(path) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return undefined;
  }
}

export class OpenaiServer {
  private readonly options: ServerOptions;
  /** Unix seconds. */
  private readonly startedAt: number;
  private readonly responses: ResponseSessions;

  constructor(options: ServerOptions) {
    this.options = options;
    this.responses = new ResponseSessions(() => options.clock.monotonic());
    this.startedAt = Math.floor(options.clock.now() / 1_000);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let cors: HeaderMap = {};
    try {
      const path = this.checkPath(request);
      cors = this.options.gate.cors(request);
      if (request.method === "OPTIONS") {
        response.writeHead(204, { ...cors, ...this.options.gate.preflight(request) });
        return void response.end();
      }
      const version = await this.options.gate.authenticate(request);
      const body = await this.route({ request, response, cors }, path, version);
      if (body) sendJson(response, 200, body.value, { ...cors, ...body.headers });
    } catch (error) {
      this.refuse(request, response, error, cors);
    }
  }

  /** @returns The path without a final slash. */
  private checkPath({ url = "", method = "" }: IncomingMessage): string {
    const path = url.split("?", 1)[0]!.replace(/(?<=.)\/$/, "");
    const allowed = modelPath.test(path) ? "GET" : methods[path];
    if (!this.options.config().enabled || allowed === undefined)
      throw new Refusal("unknown_url", "There is nothing at this address.");
    if (method !== allowed && method !== "OPTIONS")
      throw new Refusal("method_not_allowed", `Send a ${allowed} request.`, {
        headers: { Allow: `${allowed}, OPTIONS` },
      });
    return path;
  }

  /** @returns The response, or undefined if it was written or the client has left. */
  private async route(
    call: Call,
    path: string,
    version: number,
  ): Promise<{ readonly value: object; readonly headers: HeaderMap } | undefined> {
    const leave = this.options.gate.enter(call.request);
    try {
      if (path === "/v1/models") {
        const value = { object: "list", data: [this.model()] };
        return { value, headers: {} };
      }
      const model = decodeModel(path);
      if (model !== undefined) return { value: this.findModel(model), headers: {} };
      return await this.complete(call, path, version);
    } finally {
      leave();
    }
  }

  private model(): object {
    const { model } = this.options.config();
    return { id: model, object: "model", created: this.startedAt, owned_by: "doorward" };
  }

  private findModel(id: string): object {
    if (id === this.options.config().model) return this.model();
    throw new Refusal("model_not_found", "There is no model of this name.", { param: "model" });
  }

  private async complete(
    call: Call,
    path: string,
    version: number,
  ): Promise<{ readonly value: object; readonly headers: HeaderMap } | undefined> {
    const { config, clock, door, gate, newId } = this.options;
    const { request } = call;
    const body = await readJson(request, { maxBytes: config().max_body, clock, budget: door });
    if (!body) return undefined;
    try {
      // The token may have been replaced while the body arrived.
      if (!gate.isCurrent(version))
        throw new Refusal("invalid_api_key", "The token was replaced in the meantime.");
      const { parsed, format, known, responseId } = this.parse(path, body.value);
      const task = recogniseTask(request, parsed);
      if (task) this.options.countTask(task.kind);
      if (task && config().tasks === "local") {
        body.release();
        return this.replyToTask(call, task, parsed, format);
      }
      const ids = await this.idsOf(request, parsed, task ? `task-${newId()}` : known);
      if (responseId !== undefined) this.responses.add(responseId, ids.name);
      return await this.deliver(call, { parsed, ids, format, body });
    } catch (error) {
      body.release();
      throw error;
    }
  }

  private parse(path: string, body: JsonBody["value"]): ParsedOperation {
    const { model } = this.options.config();
    if (path === "/v1/chat/completions") {
      const parsed = parseChatRequest(body, model);
      return { parsed, format: createChatFormat(this.newIds("chatcmpl-"), parsed.includeUsage) };
    }
    const parsed = parseResponseRequest(body, model);
    const { previousId } = parsed;
    const known = previousId === undefined ? undefined : this.responses.find(previousId);
    const ids = this.newIds("resp_");
    return { parsed, format: createResponseFormat(ids, parsed), known, responseId: ids.id };
  }

  private newIds(prefix: string): ChatIds {
    const { config, clock, newId } = this.options;
    const created = Math.floor(clock.now() / 1_000);
    return { id: prefix + newId(), created, model: config().model };
  }

  private replyToTask(
    { response, cors }: Call,
    task: Task,
    { content, stream }: ParsedRequest,
    format: ResponseFormat,
  ): { readonly value: object; readonly headers: HeaderMap } | undefined {
    const { clock, config } = this.options;
    const text = replyToTask(task, content);
    const stallMs = (): number => config().write_timeout * 1_000;
    if (stream) {
      streamText(text, { response, format, headers: cors, clock, stallMs });
      return undefined;
    }
    const end = { outcome: "completed", finishReason: "stop", messages: 0 } as const;
    return { value: format.whole({ text, thought: "" }, end), headers: {} };
  }

  /**
   * @param known - Name of the session, if it does not depend on the request. A task that is passed
   *   on has a session of its own, so the conversation does not contain it.
   */
  private async idsOf(
    request: IncomingMessage,
    { user }: ParsedRequest,
    known: string | undefined,
  ): Promise<RequestIds> {
    const { config, newId, door } = this.options;
    const isShared = config().sessions === "shared";
    const ids = readIds(request, { user, isShared, newId, known });
    if (!(await door.isToken(ids.name))) return ids;
    throw new Refusal("unsupported_value", "The session name must not be a token.");
  }

  private async deliver(
    { request, response, cors }: Call,
    { parsed, ids, format, body }: Delivery,
  ): Promise<{ readonly value: object; readonly headers: HeaderMap } | undefined> {
    const { config, clock, runs, isOpen } = this.options;
    if (!isOpen())
      throw new Refusal("not_running", "Doorward is starting or stopping.", {
        headers: { "Retry-After": "1" },
      });
    const { content, media, previous, metadata, ignored, stream } = parsed;
    const { session, messageId: id, isRepeatable } = ids;
    const headers = {
      "X-Doorward-Session": toHeaderText(ids.name),
      "X-Request-Id": id,
      ...(ignored !== "" && { "X-Doorward-Ignored": ignored }),
    };
    const joined = runs.start({
      session,
      id,
      content,
      media,
      hops: readHops(request),
      ...(previous.length > 0 && { previous }),
      ...(Object.keys(metadata).length > 0 && { metadata }),
      isRepeatable,
      settled: body.release,
    });
    const value = await exchange({
      response,
      joined,
      format,
      headers: { ...cors, ...headers },
      clock,
      isStreamed: stream,
      showsThoughts: config().thoughts !== "hide",
      stopsOnClose: () => config().disconnect === "stop",
      stallMs: () => config().write_timeout * 1_000,
    });
    return value && { value, headers };
  }

  private refuse(
    request: IncomingMessage,
    response: ServerResponse,
    error: unknown,
    cors: HeaderMap,
  ): void {
    const refusal = toRefusal(error);
    if (refusal.code === "internal") this.options.log.error({ err: error }, "request failed");
    const { status, body } = toErrorBody(refusal);
    sendJson(response, status, body, {
      ...cors,
      ...refusal.headers,
      ...(request.complete ? {} : { Connection: "close" }),
    });
  }
}
