// Formats the answer to a request for a response, as one object or as a stream of events.
import type { ToolCall, Usage } from "../../channels/index.ts";
import { toEndRefusal } from "../errors.ts";
import { openEnd, type RunEnd, type TextKind } from "../follower.ts";
import type { RunQuestion } from "../questions.ts";
import type { EventWriter } from "../sse.ts";
import { approvalOf, argumentsOf } from "./approvals.ts";
import type { ChatIds } from "./chat.ts";
import type { ResponseFormat } from "./exchange.ts";
import { toApprovalId } from "./places.ts";
import type { TextSink } from "./plain-text.ts";
import type { ParsedResponseRequest } from "./responses-request.ts";

type Status = "in_progress" | "completed" | "incomplete" | "failed";
type Request = Pick<ParsedResponseRequest, "instructions" | "previousId" | "echo">;

interface ResponseIds extends ChatIds {
  /** The name of the session. */
  readonly session: string;
  /** The part of the id that the ids of the items have, too. */
  readonly key: string;
}

/** One item of the output: thoughts, or a message. */
interface Item {
  readonly kind: TextKind;
  readonly id: string;
  text: string;
}

function toUsage({ input = 0, output = 0, reasoning = 0, cached = 0 }: Usage = {}): object {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: input + output,
  };
}

const partOf = ({ kind, text }: Item): object =>
  kind === "thought"
    ? { type: "reasoning_text", text }
    : { type: "output_text", text, annotations: [], logprobs: [] };

function toItem(item: Item, status: Status): object {
  const content = status === "in_progress" ? [] : [partOf(item)];
  return item.kind === "thought"
    ? { id: item.id, type: "reasoning", summary: [], content, status }
    : { id: item.id, type: "message", status, role: "assistant", content };
}

/** @param isWhole - False for the beginning of the item, which has no arguments. */
function toCallItem(call: ToolCall, id: string, isWhole = true): object {
  const status = isWhole ? "completed" : "in_progress";
  const { id: call_id, name } = call;
  return {
    id,
    type: "function_call",
    status,
    call_id,
    name,
    arguments: isWhole ? argumentsOf(call) : "",
  };
}

/** An approval, in the form that the protocol has for tools of other servers. */
function toApprovalItem(asked: RunQuestion, session: string): object {
  const id = toApprovalId(asked.id, session);
  return { id, type: "mcp_approval_request", server_label: "doorward", ...approvalOf(asked) };
}

/** The id of an item of the output. */
const itemId = (prefix: string, { key }: ResponseIds, index: number): string =>
  `${prefix}_${key}_${index}`;

/** `length` and `content_filter` leave a response incomplete, and so does a stop. */
function statusOf({ outcome, finishReason }: RunEnd): Status {
  if (outcome === "failed") return "failed";
  const isCut = finishReason === "length" || finishReason === "content_filter";
  return outcome === "stopped" || isCut ? "incomplete" : "completed";
}

const incompleteReasons: Readonly<Record<string, string>> = {
  length: "max_output_tokens",
  content_filter: "content_filter",
};

function toResponse(
  { id, created, model }: ChatIds,
  { instructions, previousId, echo }: Request,
  { status, output, end }: { status: Status; output: readonly object[]; end?: RunEnd },
): object {
  const reason = incompleteReasons[end?.finishReason ?? ""];
  const error = status === "failed" && end ? toEndRefusal(end) : undefined;
  return {
    id,
    object: "response",
    created_at: created,
    status,
    error: error ? { code: "server_error", message: error.message } : null,
    incomplete_details: status === "incomplete" && reason !== undefined ? { reason } : null,
    instructions: instructions ?? null,
    max_output_tokens: null,
    model,
    output,
    parallel_tool_calls: true,
    previous_response_id: previousId ?? null,
    store: false,
    temperature: 1,
    text: { format: { type: "text" } },
    tool_choice: "auto",
    tools: [],
    top_p: 1,
    truncation: "disabled",
    usage: end ? toUsage(end.usage) : null,
    ...echo,
  };
}

class ResponseSink implements TextSink {
  private readonly events: EventWriter;
  private readonly ids: ResponseIds;
  private readonly request: Request;
  private readonly done: object[] = [];
  private item: Item | undefined;
  private hasMessage = false;
  private sequence = 0;

  constructor(events: EventWriter, ids: ResponseIds, request: Request) {
    this.events = events;
    this.ids = ids;
    this.request = request;
    const response = toResponse(ids, request, { status: "in_progress", output: [] });
    this.emit("response.created", { response });
    this.emit("response.in_progress", { response });
  }

  isWritable(): boolean {
    return this.events.isWritable();
  }

  text(delta: string): void {
    this.grow("text", delta);
  }

  thought(delta: string): void {
    this.grow("thought", delta);
  }

  waits(questions: readonly RunQuestion[]): void {
    this.close("completed");
    this.ask(questions);
    this.complete("completed", openEnd);
  }

  private ask(questions: readonly RunQuestion[]): void {
    for (const question of questions) {
      const item = toApprovalItem(question, this.ids.session);
      const output_index = this.done.length;
      this.emit("response.output_item.added", { output_index, item });
      this.emit("response.output_item.done", { output_index, item });
      this.done.push(item);
    }
  }

  over(end: RunEnd): void {
    const status = statusOf(end);
    if (!this.hasMessage && status === "completed" && !end.calls) this.open("text");
    this.close(status === "completed" ? "completed" : "incomplete");
    for (const call of end.calls ?? []) this.writeCall(call);
    this.ask(end.asks ?? []);
    this.complete(status, end);
  }

  private complete(status: Status, end: RunEnd): void {
    const response = toResponse(this.ids, this.request, { status, output: this.done, end });
    this.emit(`response.${status}`, { response });
    this.events.end();
  }

  private writeCall(call: ToolCall): void {
    const output_index = this.done.length;
    const item_id = itemId("fc", this.ids, output_index);
    const place = { item_id, output_index };
    const text = argumentsOf(call);
    const item = toCallItem(call, item_id, false);
    this.emit("response.output_item.added", { output_index, item });
    this.emit("response.function_call_arguments.delta", { ...place, delta: text });
    const { name } = call;
    this.emit("response.function_call_arguments.done", { ...place, name, arguments: text });
    const finished = toCallItem(call, item_id);
    this.emit("response.output_item.done", { output_index, item: finished });
    this.done.push(finished);
  }

  private grow(kind: TextKind, delta: string): void {
    const item = this.item?.kind === kind ? this.item : this.open(kind);
    item.text += delta;
    this.emit(`response.${nameOf(item)}.delta`, { ...this.placeOf(item), delta, ...extra(item) });
  }

  private open(kind: TextKind): Item {
    this.close("completed");
    const id = itemId(kind === "thought" ? "rs" : "msg", this.ids, this.done.length);
    const item: Item = { kind, id, text: "" };
    this.item = item;
    if (kind === "text") this.hasMessage = true;
    const output_index = this.done.length;
    this.emit("response.output_item.added", { output_index, item: toItem(item, "in_progress") });
    this.emit("response.content_part.added", { ...this.placeOf(item), part: partOf(item) });
    return item;
  }

  private close(status: Status): void {
    const { item } = this;
    if (!item) return;
    const { text } = item;
    this.emit(`response.${nameOf(item)}.done`, { ...this.placeOf(item), text, ...extra(item) });
    this.emit("response.content_part.done", { ...this.placeOf(item), part: partOf(item) });
    const output_index = this.done.length;
    const finished = toItem(item, status);
    this.emit("response.output_item.done", { output_index, item: finished });
    this.done.push(finished);
    this.item = undefined;
  }

  private placeOf({ id }: Item): object {
    return { item_id: id, output_index: this.done.length, content_index: 0 };
  }

  private emit(type: string, fields: object): void {
    const sequence_number = this.sequence++;
    this.events.event(JSON.stringify({ type, sequence_number, ...fields }), type);
  }
}

const nameOf = ({ kind }: Item): string => (kind === "thought" ? "reasoning_text" : "output_text");
const extra = ({ kind }: Item): object => (kind === "thought" ? {} : { logprobs: [] });

/** The two forms of a response. */
export const createResponseFormat = (ids: ResponseIds, request: Request): ResponseFormat => ({
  hasApprovals: true,
  whole({ text, thought }, end, questions = []) {
    const status = statusOf(end);
    const { calls = [] } = end;
    const items: Item[] = [
      { kind: "thought", id: itemId("rs", ids, 0), text: thought },
      { kind: "text", id: itemId("msg", ids, 1), text },
    ];
    const isShown = ({ kind, text: own }: Item): boolean =>
      own !== "" || (kind === "text" && calls.length + questions.length === 0);
    const output = [
      ...items.filter(isShown).map((item) => toItem(item, status)),
      ...calls.map((call, index) => toCallItem(call, itemId("fc", ids, index + 2))),
      ...questions.map((question) => toApprovalItem(question, ids.session)),
    ];
    return toResponse(ids, request, { status, output, end });
  },
  stream: (events) => new ResponseSink(events, ids, request),
});
