// Writes tool calls and plans in the form of the Agent Client Protocol.
import { toolKinds } from "../../lib/acp-wire/index.ts";
import type { ChatToolCall } from "../../lib/pico-link/index.ts";
import type { PlanEntry, StepDetail, StepState } from "../../lib/step-details.ts";

type Status = "pending" | "in_progress" | "completed" | "failed";

/** Content of a tool call, as it is sent. */
type CallContent =
  | {
      readonly type: "content";
      readonly content: { readonly type: "text"; readonly text: string };
    }
  | {
      readonly type: "diff";
      readonly path: string;
      readonly oldText: string | null;
      readonly newText: string;
    };

/** A tool call of one message, as it is sent. */
export interface SentCall {
  readonly toolCallId: string;
  readonly title: string;
  readonly kind: string;
  readonly status: Status;
  readonly content?: readonly CallContent[];
  readonly locations?: readonly { readonly path: string; readonly line?: number }[];
  readonly rawInput?: unknown;
  readonly rawOutput?: unknown;
}

/** Ids of calls are unique in one answer; editors expect them to be unique in a session. */
export const callId = (requestId: string | undefined, id: string): string =>
  `${requestId ?? "-"}:${id}`;

export const textContent = (text: string): CallContent => ({
  type: "content",
  content: { type: "text", text },
});

function toContent(detail: StepDetail): CallContent {
  if (detail.type === "diff") {
    const { path, old, new: newText, cut } = detail;
    if (cut) return textContent(`The change of ${path} is too large to show.`);
    return { type: "diff", path, oldText: old ?? null, newText };
  }
  if (detail.type === "text") return textContent(detail.text);
  const end = detail.exit === undefined ? "" : `\nExit code ${detail.exit}`;
  return textContent(`${detail.text}${end}`);
}

const states: Readonly<Record<StepState, Status>> = {
  pending: "pending",
  running: "in_progress",
  completed: "completed",
  failed: "failed",
};

function statusOf({ state, result, error }: ChatToolCall): Status {
  if (state !== undefined && Object.hasOwn(states, state)) return states[state as StepState];
  if (error !== undefined) return "failed";
  return result === undefined ? "in_progress" : "completed";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function toCall(call: ChatToolCall, requestId: string | undefined): SentCall {
  const { id, name, title, kind = "", details, locations, arguments: input } = call;
  const output = call.error ?? call.result;
  const content = details?.map(toContent) ?? (output === undefined ? [] : [textContent(output)]);
  return {
    toolCallId: callId(requestId, id || name),
    title: title ?? name,
    kind: toolKinds.has(kind) ? kind : "other",
    status: statusOf(call),
    ...(content.length > 0 && { content }),
    ...(locations && { locations }),
    ...(input !== "" && { rawInput: parsed(input) }),
    ...(output !== undefined && { rawOutput: parsed(output) }),
  };
}

const planStates = {
  pending: "pending",
  running: "in_progress",
  completed: "completed",
  // The protocol has no failed entry.
  failed: "completed",
} as const;

export const toPlan = (entries: readonly PlanEntry[]): object => ({
  sessionUpdate: "plan",
  entries: entries.map(({ content, priority = "medium", state }) => ({
    content: state === "failed" ? `Failed: ${content}` : content,
    priority,
    status: planStates[state],
  })),
});
