// Formats the answer to a chat completion, as one object or as a stream of chunks.
import type { ToolCall, Usage } from "../../channels/index.ts";
import { toEndRefusal } from "../errors.ts";
import type { RunEnd } from "../follower.ts";
import type { EventWriter } from "../sse.ts";
import { toErrorBody } from "./errors.ts";
import type { ResponseFormat } from "./exchange.ts";
import type { TextSink } from "./plain-text.ts";

export interface ChatIds {
  readonly id: string;
  /** Unix seconds. */
  readonly created: number;
  readonly model: string;
}

type FinishReason = "stop" | "length" | "content_filter" | "tool_calls";

function finishReasonOf({ finishReason, calls }: RunEnd): FinishReason {
  if (calls) return "tool_calls";
  return finishReason === "length" || finishReason === "content_filter" ? finishReason : "stop";
}

/** Clients parse the arguments as JSON, also of a call without any. */
export const argumentsOf = ({ arguments: text }: ToolCall): string => text.trim() || "{}";

const toCall = (call: ToolCall): object => ({
  id: call.id,
  type: "function",
  function: { name: call.name, arguments: argumentsOf(call) },
});

/** Counts that are not known are 0: some clients fail without them. Nothing is estimated. */
function toUsage({ input = 0, output = 0, reasoning, cached }: Usage = {}): object {
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(reasoning !== undefined && { completion_tokens_details: { reasoning_tokens: reasoning } }),
  };
}

/** The response to a request that is not streamed. */
function toCompletion(
  { id, created, model }: ChatIds,
  { text, thought }: { readonly text: string; readonly thought: string },
  end: RunEnd,
): object {
  const message = {
    role: "assistant",
    content: text === "" && end.calls ? null : text,
    refusal: null,
    ...(thought !== "" && { reasoning_content: thought }),
    ...(end.calls && { tool_calls: end.calls.map(toCall) }),
  };
  const finish_reason = finishReasonOf(end);
  return {
    id,
    object: "chat.completion",
    created,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason }],
    usage: toUsage(end.usage),
  };
}

/** Writes chunks. Everything but the text is the same in each, so it is encoded once. */
class ChunkSink implements TextSink {
  private readonly events: EventWriter;
  private readonly includeUsage: boolean;
  private readonly head: string;
  private readonly tail: string;

  constructor(events: EventWriter, { id, created, model }: ChatIds, includeUsage: boolean) {
    this.events = events;
    this.includeUsage = includeUsage;
    const object = "chat.completion.chunk";
    const envelope = JSON.stringify({ id, object, created, model }).slice(0, -1);
    this.head = `${envelope},"choices":[{"index":0,"delta":`;
    this.tail = includeUsage ? '}],"usage":null}' : "}]}";
    this.chunk('{"role":"assistant","content":""}');
  }

  isWritable(): boolean {
    return this.events.isWritable();
  }

  text(delta: string): void {
    this.chunk(`{"content":${JSON.stringify(delta)}}`);
  }

  thought(delta: string): void {
    this.chunk(`{"reasoning_content":${JSON.stringify(delta)}}`);
  }

  over(end: RunEnd): void {
    const { events } = this;
    if (end.outcome === "failed") {
      events.event(JSON.stringify(toErrorBody(toEndRefusal(end))));
      return events.end();
    }
    for (const [index, call] of (end.calls ?? []).entries())
      this.chunk(JSON.stringify({ tool_calls: [{ index, ...toCall(call) }] }));
    this.chunk("{}", `"${finishReasonOf(end)}"`);
    if (this.includeUsage) {
      const usage = toUsage(end.usage);
      const before = this.head.slice(0, this.head.indexOf('"choices":['));
      events.event(`${before}"choices":[],"usage":${JSON.stringify(usage)}}`);
    }
    events.event("[DONE]");
    events.end();
  }

  private chunk(delta: string, finishReason = "null"): void {
    const { head, tail } = this;
    this.events.event(`${head}${delta},"logprobs":null,"finish_reason":${finishReason}${tail}`);
  }
}

/** The two forms of a chat completion. */
export const createChatFormat = (ids: ChatIds, includeUsage: boolean): ResponseFormat => ({
  whole: (texts, end) => toCompletion(ids, texts, end),
  stream: (events) => new ChunkSink(events, ids, includeUsage),
});
