// Formats the answer to a chat completion, as one object or as a stream of chunks.
import type { ToolCall, Usage } from "../../channels/index.ts";
import { toEndRefusal } from "../errors.ts";
import type { RunEnd } from "../follower.ts";
import type { EventWriter } from "../sse.ts";
import { argumentsOf } from "./approvals.ts";
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

class ChunkSink implements TextSink {
  private readonly events: EventWriter;
  private readonly includeUsage: boolean;
  /** The fields that all chunks have. */
  private readonly common: object;

  constructor(events: EventWriter, { id, created, model }: ChatIds, includeUsage: boolean) {
    this.events = events;
    this.includeUsage = includeUsage;
    this.common = { id, object: "chat.completion.chunk", created, model };
    this.chunk({ role: "assistant", content: "" });
  }

  isWritable(): boolean {
    return this.events.isWritable();
  }

  text(content: string): void {
    this.chunk({ content });
  }

  thought(delta: string): void {
    this.chunk({ reasoning_content: delta });
  }

  over(end: RunEnd): void {
    const { events } = this;
    if (end.outcome === "failed") {
      events.event(JSON.stringify(toErrorBody(toEndRefusal(end))));
      return events.end();
    }
    for (const [index, call] of (end.calls ?? []).entries())
      this.chunk({ tool_calls: [{ index, ...toCall(call) }] });
    this.chunk({}, finishReasonOf(end));
    if (this.includeUsage) this.write({ choices: [], usage: toUsage(end.usage) });
    events.event("[DONE]");
    events.end();
  }

  private chunk(delta: object, finish_reason: FinishReason | null = null): void {
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }];
    this.write({ choices, ...(this.includeUsage && { usage: null }) });
  }

  private write(fields: object): void {
    this.events.event(JSON.stringify({ ...this.common, ...fields }));
  }
}

/** The two forms of a chat completion. */
export const createChatFormat = (ids: ChatIds, includeUsage: boolean): ResponseFormat => ({
  whole: (texts, end) => toCompletion(ids, texts, end),
  stream: (events) => new ChunkSink(events, ids, includeUsage),
});
