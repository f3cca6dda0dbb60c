/** Describes a request on one time axis. @module */
import type { RequestView } from "../../shared/conversation-views.ts";
import type { RecordedRequest } from "./state/recorder.ts";
import type { Answer } from "./state/groups.ts";
import type { AppMessage } from "./state/thread.ts";
import { readToolCall } from "./tool-calls.ts";

/** One bar of the timeline. Times are in milliseconds after the message was sent. */
export interface TimelineEntry {
  readonly key: string;
  readonly icon: string;
  readonly name: string;
  /** True for names of the application, which are shown as code. */
  readonly isCode?: boolean;
  readonly from: number;
  readonly ms: number;
  readonly series: "a" | "b" | "c";
}

/** The facts and the bars of one request. */
export interface Timeline {
  readonly total?: number;
  readonly firstText?: number;
  readonly tokens?: number;
  readonly entries: readonly TimelineEntry[];
}

const delivered = { icon: "check", name: "Delivered", series: "c" } as const;

function deliveryOf({ frames }: RecordedRequest): TimelineEntry[] {
  const sent = frames.find(({ type }) => type === "message.send");
  const acknowledged = frames.find(({ type }) => type === "message.ack");
  if (!sent || !acknowledged) return [];
  const ms = acknowledged.at - sent.at;
  return [{ ...delivered, key: "ack", from: 0, ms }];
}

type Look = Omit<TimelineEntry, "key" | "from" | "ms">;

function lookOf(kind: AppMessage["kind"], calls: readonly unknown[]): Look {
  if (kind === "text") return { icon: "sparkles", name: "Answer", series: "c" };
  if (kind === "plan") return { icon: "list", name: "Plan", series: "b" };
  if (kind === "thought") return { icon: "brain", name: "Thought", series: "b" };
  const names = calls.map((call) => readToolCall(call).name).join(", ");
  return { icon: "wrench", name: names || "Tool", isCode: true, series: "a" };
}

/** Messages of the application that the page has, by their id. */
const messagesOf = (answer: Answer | undefined) =>
  new Map(
    (answer?.segments ?? [])
      .flatMap((segment) =>
        segment.kind === "text" ? [segment.message] : segment.steps.map(({ message }) => message),
      )
      .map((message) => [message.key, message]),
  );

const countTokens = (usage: RequestView["usage"]): number =>
  (usage?.input ?? 0) + (usage?.output ?? 0);

/** Describes a request by the times of the server. */
function describeTimes(times: RequestView, answer: Answer | undefined): Timeline {
  const { acceptedMs, firstTextMs, endedMs, usage, parts } = times;
  const messages = messagesOf(answer);
  const entries: TimelineEntry[] = [];
  if (acceptedMs !== undefined) entries.push({ ...delivered, from: 0, ms: acceptedMs, key: "ack" });
  for (const [at, { id, kind, fromMs, toMs, updates }] of parts.entries()) {
    const key = `app ${id}`;
    const look = lookOf(kind === "tool_calls" ? "tools" : kind, messages.get(key)?.calls ?? []);
    // A complete thought began with the previous message; a tool runs until the next one.
    const isWhole = kind === "thought" && updates === 0;
    const from = isWhole ? (parts[at - 1]?.toMs ?? 0) : fromMs;
    const to = kind === "tool_calls" ? (parts[at + 1]?.fromMs ?? endedMs ?? toMs) : toMs;
    entries.push({ ...look, key, from, ms: Math.max(0, to - from) });
  }
  const last = entries.map(({ from, ms }) => from + ms);
  const tokens = countTokens(usage);
  return {
    entries,
    total: endedMs ?? Math.max(0, ...last),
    ...(firstTextMs !== undefined && { firstText: firstTextMs }),
    ...(tokens > 0 && { tokens }),
  };
}

/**
 * Describes a request by the times of the server. Without them, by its frames and its answer on
 * this page.
 */
export function describeRequest(
  request: RecordedRequest | undefined,
  answer: Answer | undefined,
  times?: RequestView,
): Timeline {
  if (times) return describeTimes(times, answer);
  const startedAt = request?.frames[0]?.at ?? answer?.run?.startedAt ?? answer?.at;
  if (startedAt === undefined) return { entries: [] };
  const entries: TimelineEntry[] = request ? deliveryOf(request) : [];
  let firstText: number | undefined;
  for (const segment of answer?.segments ?? []) {
    if (segment.kind === "text") {
      const { key, at, endedAt = at } = segment.message;
      firstText ??= Math.max(0, at - startedAt);
      const from = Math.max(0, at - startedAt);
      entries.push({ ...lookOf("text", []), key, from, ms: endedAt - at });
      continue;
    }
    for (const { message, ms = 0 } of segment.steps) {
      const isThought = message.kind === "thought";
      // A thought arrives when it is complete; a tool call when it begins.
      const began = isThought && message.endedAt === undefined ? message.at - ms : message.at;
      entries.push({
        ...lookOf(message.kind, message.calls),
        key: message.key,
        from: Math.max(0, began - startedAt),
        ms,
      });
    }
  }
  const { run } = answer ?? {};
  const last = entries.map(({ from, ms }) => from + ms);
  const tokens = countTokens(run?.usage);
  const total = run?.endedAt === undefined ? Math.max(0, ...last) : run.endedAt - startedAt;
  return {
    entries,
    ...(entries.length > 0 && { total: Math.max(total, ...last) }),
    ...(firstText !== undefined && { firstText }),
    ...(tokens > 0 && { tokens }),
  };
}
