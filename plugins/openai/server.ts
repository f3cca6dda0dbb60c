// Serves the addresses below /v1: models, chat completions and responses.
import {
  assertOpen,
  readCallBody,
  readHops,
  Refusal,
  sessionOf,
  toHeaderText,
  type Call,
  type JsonBody,
  type JsonObject,
  type JsonReply,
  type Protocol,
  type Route,
} from "../doors/index.ts";
import { createChatFormat, type ChatIds } from "./chat.ts";
import type { OpenaiConfig } from "./config.ts";
import { exchange, streamText, type ResponseFormat } from "./exchange.ts";
import { parseChatRequest, type ParsedRequest } from "./request.ts";
import { createResponseFormat } from "./responses.ts";
import { parseResponseRequest, ResponseSessions } from "./responses-request.ts";
import { readIds, type RequestIds } from "./session.ts";
import { recogniseTask, replyToTask, type Task, type TaskKind } from "./tasks.ts";

/** A message for the application and the form of its answer. */
interface Delivery {
  readonly parsed: ParsedRequest;
  readonly ids: RequestIds;
  /** The session of the channel. */
  readonly session: string;
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

const modelPath = /^\/v1\/models\/([^/]+)$/;

function decodeModel(path: string): string | undefined {
  const [, encoded] = modelPath.exec(path) ?? [];
  try {
    return encoded === undefined ? undefined : decodeURIComponent(encoded);
  } catch {
    return "";
  }
}

export class OpenaiRoutes {
  private readonly protocol: Protocol<OpenaiConfig>;
  private readonly countTask: (kind: TaskKind) => void;
  /** Unix seconds. */
  private readonly startedAt: number;
  private readonly responses: ResponseSessions;

  constructor(protocol: Protocol<OpenaiConfig>, countTask: (kind: TaskKind) => void) {
    const { clock } = protocol;
    this.protocol = protocol;
    this.countTask = countTask;
    this.responses = new ResponseSessions(() => clock.monotonic());
    this.startedAt = Math.floor(clock.now() / 1_000);
  }

  readonly find = (path: string): Route | undefined => {
    if (path === "/v1/models")
      return { method: "GET", run: async () => ({ value: this.listModels() }) };
    const model = decodeModel(path);
    if (model !== undefined)
      return { method: "GET", run: async () => ({ value: this.findModel(model) }) };
    if (path !== "/v1/chat/completions" && path !== "/v1/responses") return undefined;
    return { method: "POST", run: (call) => this.complete(call, path) };
  };

  private listModels(): object {
    return { object: "list", data: [this.model()] };
  }

  private model(): object {
    const { model } = this.protocol.config();
    return { id: model, object: "model", created: this.startedAt, owned_by: "doorward" };
  }

  private findModel(id: string): object {
    if (id === this.protocol.config().model) return this.model();
    throw new Refusal("model_not_found", "There is no model of this name.", { param: "model" });
  }

  private async complete(call: Call, path: string): Promise<JsonReply | undefined> {
    const { config, newId } = this.protocol;
    const { request } = call;
    const body = await readCallBody(this.protocol, call);
    if (!body) return undefined;
    try {
      const { parsed, format, known, responseId } = this.parse(path, body.value);
      const task = recogniseTask(request, parsed);
      if (task) this.countTask(task.kind);
      if (task && config().tasks === "local") {
        body.release();
        return this.replyToTask(call, task, parsed, format);
      }
      // A task has a session of its own, so the conversation does not contain it.
      const name = task ? `task-${newId()}` : known;
      const ids = readIds(request, { user: parsed.user, newId, known: name });
      const session = await sessionOf(this.protocol, ids.name, ids.param);
      if (responseId !== undefined) this.responses.add(responseId, ids.name);
      return await this.deliver(call, { parsed, ids, session, format, body });
    } catch (error) {
      body.release();
      throw error;
    }
  }

  private parse(path: string, body: JsonObject): ParsedOperation {
    const { model } = this.protocol.config();
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
    const { config, clock, newId } = this.protocol;
    const created = Math.floor(clock.now() / 1_000);
    return { id: prefix + newId(), created, model: config().model };
  }

  private replyToTask(
    { response, cors }: Call,
    task: Task,
    { content, stream }: ParsedRequest,
    format: ResponseFormat,
  ): JsonReply | undefined {
    const { clock, config } = this.protocol;
    const text = replyToTask(task, content);
    const stallMs = (): number => config().write_timeout * 1_000;
    if (stream) {
      streamText(text, { response, format, headers: cors, clock, stallMs });
      return undefined;
    }
    const end = { outcome: "completed", finishReason: "stop", messages: 0 } as const;
    return { value: format.whole({ text, thought: "" }, end) };
  }

  private async deliver(
    { request, response, cors }: Call,
    { parsed, ids, session, format, body }: Delivery,
  ): Promise<JsonReply | undefined> {
    const { config, clock, runs } = this.protocol;
    assertOpen(this.protocol);
    const { content, media, previous, metadata, ignored, stream } = parsed;
    const { messageId: id, isRepeatable } = ids;
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
}
