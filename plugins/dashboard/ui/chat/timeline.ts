/** Describes a request on one time axis. @module */
import type { RecordedRequest } from "./state/recorder.ts";
import type { Answer } from "./state/groups.ts";
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

function deliveryOf({ frames }: RecordedRequest): TimelineEntry[] {
  const sent = frames.find(({ type }) => type === "message.send");
  const acknowledged = frames.find(({ type }) => type === "message.ack");
  if (!sent || !acknowledged) return [];
  const ms = acknowledged.at - sent.at;
  return [{ key: "ack", icon: "check", name: "Delivered", from: 0, ms, series: "c" }];
}

/** Describes a request by its frames and its answer. Without frames, only the answer is known. */
export function describeRequest(
  request: RecordedRequest | undefined,
  answer: Answer | undefined,
): Timeline {
  const startedAt = request?.frames[0]?.at ?? answer?.run?.startedAt ?? answer?.at;
  if (startedAt === undefined) return { entries: [] };
  const entries: TimelineEntry[] = request ? deliveryOf(request) : [];
  let firstText: number | undefined;
  for (const segment of answer?.segments ?? []) {
    if (segment.kind === "text") {
      const { key, at, endedAt = at } = segment.message;
      firstText ??= Math.max(0, at - startedAt);
      const from = Math.max(0, at - startedAt);
      entries.push({ key, icon: "sparkles", name: "Answer", from, ms: endedAt - at, series: "c" });
      continue;
    }
    for (const { message, ms = 0 } of segment.steps) {
      const isThought = message.kind === "thought";
      // A thought arrives when it is complete; a tool call when it begins.
      const began = isThought && message.endedAt === undefined ? message.at - ms : message.at;
      const names = message.calls.map((call) => readToolCall(call).name).join(", ");
      entries.push({
        key: message.key,
        icon: isThought ? "brain" : "wrench",
        name: isThought ? "Thought" : names || "Tool",
        isCode: !isThought,
        from: Math.max(0, began - startedAt),
        ms,
        series: isThought ? "b" : "a",
      });
    }
  }
  const { run } = answer ?? {};
  const last = entries.map(({ from, ms }) => from + ms);
  const total = run?.endedAt === undefined ? Math.max(0, ...last) : run.endedAt - startedAt;
  return {
    entries,
    ...(entries.length > 0 && { total: Math.max(total, ...last) }),
    ...(firstText !== undefined && { firstText }),
    ...(run?.tokens !== undefined && { tokens: run.tokens }),
  };
}
