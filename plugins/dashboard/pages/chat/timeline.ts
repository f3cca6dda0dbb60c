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

type Look = Omit<TimelineEntry, "key" | "from" | "ms">;

function lookOf(kind: AppMessage["kind"], calls: readonly unknown[]): Look {
  if (kind === "text") return { icon: "sparkles", name: "Answer", series: "c" };
  if (kind === "plan") return { icon: "list-checks", name: "Plan", series: "b" };
  if (kind === "notice") return { icon: "info", name: "Notice", series: "b" };
  if (kind === "thought") return { icon: "brain", name: "Thought", series: "b" };
  const names = calls.map((call) => readToolCall(call).name).join(", ");
  return { icon: "wrench", name: names || "Tool", isCode: true, series: "a" };
}

/** A part of the answer, with times like those of an entry. */
interface Part extends Pick<AppMessage, "key" | "kind" | "calls"> {
  readonly fromMs: number;
  readonly toMs: number;
  /** True if it came in one piece. */
  readonly isWhole: boolean;
}

/** Times of the whole request, which the server or this page has measured. */
type Times = Pick<RequestView, "acceptedMs" | "firstTextMs" | "endedMs" | "usage">;

const messagesOf = (answer: Answer | undefined): readonly AppMessage[] =>
  (answer?.segments ?? []).flatMap((segment) =>
    segment.kind === "text" ? [segment.message] : segment.steps.map(({ message }) => message),
  );

function describe({ acceptedMs, firstTextMs, endedMs, usage }: Times, parts: readonly Part[]) {
  const entries: TimelineEntry[] = parts.map((part, at) => {
    const { key, kind, calls, fromMs, toMs, isWhole } = part;
    // A complete thought began with the previous part; a tool runs until the next one.
    const from = kind === "thought" && isWhole ? (parts[at - 1]?.toMs ?? 0) : fromMs;
    const to = kind === "tools" ? (parts[at + 1]?.fromMs ?? endedMs ?? toMs) : toMs;
    return { ...lookOf(kind, calls), key, from, ms: Math.max(0, to - from) };
  });
  if (acceptedMs !== undefined)
    entries.unshift({
      ...{ key: "ack", icon: "check", name: "Delivered", series: "c" },
      ...{ from: 0, ms: acceptedMs },
    });
  const tokens = (usage?.input ?? 0) + (usage?.output ?? 0);
  const total = endedMs ?? Math.max(...entries.map(({ from, ms }) => from + ms));
  return {
    entries,
    ...(total >= 0 && { total }),
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
  const messages = messagesOf(answer);
  if (times) {
    const callsOf = new Map(messages.map(({ key, calls }) => [key, calls]));
    const parts = times.parts.map(({ id, kind, updates, ...part }): Part => {
      const key = `app ${id}`;
      const shown = kind === "tool_calls" ? "tools" : kind;
      return { ...part, key, kind: shown, calls: callsOf.get(key) ?? [], isWhole: updates === 0 };
    });
    return describe(times, parts);
  }
  const { frames = [] } = request ?? {};
  const { run } = answer ?? {};
  const startedAt = frames[0]?.at ?? run?.startedAt ?? answer?.at;
  if (startedAt === undefined) return { entries: [] };
  const after = (at: number): number => Math.max(0, at - startedAt);
  const parts = messages.map(({ key, kind, calls, at, endedAt = at }): Part => {
    const isWhole = endedAt === at;
    return { key, kind, calls, fromMs: after(at), toMs: after(endedAt), isWhole };
  });
  const acceptedAt = frames.find(({ type }) => type === "message.ack")?.at;
  const text = parts.find(({ kind }) => kind === "text");
  const measured = {
    ...(acceptedAt !== undefined && { acceptedMs: after(acceptedAt) }),
    ...(text && { firstTextMs: text.fromMs }),
    ...(run?.endedAt !== undefined && { endedMs: after(run.endedAt) }),
    ...(run?.usage && { usage: run.usage }),
  };
  return describe(measured, parts);
}
