// Limits the details of tool calls, and writes a plan as text.

/** A part of a tool call that people look at. */
export type StepDetail =
  | {
      /** The change of a file. */
      readonly type: "diff";
      /** Path of the file, for display. */
      readonly path: string;
      /** The text before. Absent for a new file. */
      readonly old?: string;
      /** The text after. */
      readonly new: string;
      /** True if the texts are missing, because the details were too large. */
      readonly cut?: true;
    }
  | {
      readonly type: "text";
      readonly text: string;
      /** True if the end of the text is missing. */
      readonly cut?: true;
    }
  | {
      /** Output of a command. */
      readonly type: "terminal";
      readonly text: string;
      /** Exit code of the command. Absent while it runs. */
      readonly exit?: number;
      /** True if the beginning of the text is missing. */
      readonly cut?: true;
    };

/** State of a tool call, or of an entry of a plan. */
export type StepState = "pending" | "running" | "completed" | "failed";

/** One step of a plan. */
export interface PlanEntry {
  /** The step in one line of at most 1,000 characters. */
  readonly content: string;
  /** How important it is, for display. */
  readonly priority?: "high" | "medium" | "low";
  /** How far it is. */
  readonly state: StepState;
}

/** The details of all calls of one message, in bytes of JSON text. */
export const maxDetailBytes = 256 * 1_024;

const sizeOf = (text: string): number => Buffer.byteLength(JSON.stringify(text));

/** @returns As much of the beginning, or of the end, as fits into `room` bytes of JSON text. */
function cutText(text: string, room: number, keepsEnd: boolean): string {
  let low = 0;
  let high = Math.min(text.length, room);
  const take = (length: number): string =>
    (keepsEnd ? text.slice(text.length - length) : text.slice(0, length)).toWellFormed();
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (sizeOf(take(middle)) <= room) low = middle;
    else high = middle - 1;
  }
  return take(low);
}

/** Half of a change is not a change, so a diff that does not fit loses both texts. */
function fitDetail(detail: StepDetail, room: number): StepDetail {
  if (detail.type !== "diff") {
    if (sizeOf(detail.text) <= room) return detail;
    return { ...detail, text: cutText(detail.text, room, detail.type === "terminal"), cut: true };
  }
  if (sizeOf(detail.old ?? "") + sizeOf(detail.new) <= room) return detail;
  return { type: "diff", path: detail.path, new: "", cut: true };
}

const sizeOfDetail = (detail: StepDetail): number =>
  detail.type === "diff" ? sizeOf(detail.old ?? "") + sizeOf(detail.new) : sizeOf(detail.text);

/** Cuts the details that exceed {@link maxDetailBytes} together with the ones before them. */
export function fitDetails<C extends { readonly details?: readonly StepDetail[] }>(
  calls: readonly C[],
): readonly C[] {
  let room = maxDetailBytes;
  return calls.map((call) => {
    if (!call.details) return call;
    const details = call.details.map((detail) => {
      const fitting = fitDetail(detail, Math.max(2, room));
      room -= sizeOfDetail(fitting);
      return fitting;
    });
    return { ...call, details };
  });
}

const marks: Readonly<Record<StepState, string>> = {
  pending: "[ ]",
  running: "[ ] **Running:**",
  completed: "[x]",
  failed: "[ ] **Failed:**",
};

/** Writes a plan as a Markdown list, for clients that do not know plans. */
export const planText = (entries: readonly PlanEntry[]): string =>
  entries
    .map(({ content, state }) => `- ${marks[state]} ${content.replaceAll(/\s+/g, " ").trim()}`)
    .join("\n");
