// Turns what an agent reports into steps, plans and texts of Doorward.
import {
  toolKinds,
  type ContentBlock,
  type PlanEntry,
  type ToolCallContent,
  type ToolCallUpdate,
} from "../../lib/acp-wire/index.ts";
import { defined, toLine } from "../../lib/util.ts";
import type {
  PlanEntry as Entry,
  StepDetail,
  StepKind,
  StepState,
  ToolCall,
} from "../channels/index.ts";

const states: Readonly<Record<string, StepState>> = {
  pending: "pending",
  in_progress: "running",
  completed: "completed",
  failed: "failed",
};
const maxItems = 64;
const maxEntries = 100;
const maxPath = 4_096;
/** Arguments and results are for people who look closer; details have the rest. */
const maxJson = 32 * 1_024;

/** @returns At most `length` characters, with a mark where text is missing. */
export function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}

/** @returns The text in one line of at most `length` characters. */
export const oneLine = (text: string, length: number): string =>
  clip(toLine(text.slice(0, length * 4)), length);

/** @returns The text of a part, as Markdown. */
export function textOf(content: ContentBlock): string {
  switch (content.type) {
    case "text":
      return content.text;
    case "resource_link": {
      const name = oneLine(content.title ?? content.name, 200).replaceAll(/[[\]]/g, "");
      return `[${name}](<${content.uri.replaceAll(/[<>\s]/g, encodeURIComponent)}>)`;
    }
    case "resource":
      return content.resource.text ?? `[${oneLine(content.resource.uri, 200)}]`;
    default:
      return `[${content.type}]`;
  }
}

/** The channels cut details over 256 KiB. */
const maxDetail = 256 * 1_024 + 1;

function shortenItem(item: ToolCallContent): ToolCallContent {
  if (item.type === "diff") {
    const { oldText, newText } = item;
    const old = oldText === undefined ? {} : { oldText: oldText.slice(0, maxDetail) };
    return { ...item, newText: newText.slice(0, maxDetail), ...old };
  }
  if (item.type !== "content") return item;
  return {
    type: "content",
    content: { type: "text", text: clip(textOf(item.content), maxDetail) },
  };
}

/** Tools that write files have the whole content in their input. */
function shortenInput(call: ToolCallUpdate): unknown {
  const text = toText(call.rawInput);
  if (text === undefined || text.length < maxJson) return call.rawInput;
  const command = commandOf(call);
  return command === undefined ? text : { command: clip(command, maxJson) };
}

/** @returns The present fields, with at most as much of their texts as people may see. */
export function shorten(update: ToolCallUpdate): ToolCallUpdate {
  return defined({
    ...update,
    content: update.content?.slice(0, maxItems).map(shortenItem),
    rawInput: shortenInput(update),
    rawOutput: toText(update.rawOutput),
  }) as ToolCallUpdate;
}

const textLength = (value: unknown): number =>
  value === undefined ? 0 : typeof value === "string" ? value.length : JSON.stringify(value).length;

/** @returns The characters of the contents of a call. */
export function lengthOf({ content = [], rawInput, rawOutput }: ToolCallUpdate): number {
  const lengths = content.map((item) => {
    if (item.type === "diff") return item.newText.length + (item.oldText?.length ?? 0);
    return item.type === "content" ? textOf(item.content).length : 0;
  });
  return lengths.reduce(
    (sum, length) => sum + length,
    textLength(rawInput) + textLength(rawOutput),
  );
}

const toText = (value: unknown): string | undefined => {
  if (value === undefined) return undefined;
  return clip(typeof value === "string" ? value : JSON.stringify(value), maxJson);
};

function detailsOf({ content = [] }: ToolCallUpdate): StepDetail[] {
  return content.slice(0, maxItems).flatMap((item): StepDetail[] => {
    if (item.type === "diff") {
      const path = clip(item.path, maxPath) || "file";
      return [defined({ type: "diff" as const, path, old: item.oldText, new: item.newText })];
    }
    return item.type === "content" ? [{ type: "text", text: textOf(item.content) }] : [];
  });
}

/** The text of a result: the shown text, else the output of the tool. */
function resultOf({ content = [], rawOutput }: ToolCallUpdate): string | undefined {
  const shown = content.flatMap((item) => (item.type === "content" ? textOf(item.content) : []));
  return shown.length > 0 ? clip(shown.join("\n"), maxJson) : toText(rawOutput);
}

/** @returns The title of a call in one line; agents may leave it out. */
export const titleOf = ({ title = "", kind = "tool" }: ToolCallUpdate): string =>
  oneLine(title, 256) || kind;

/** @returns The command that a call runs, if it names one. */
export function commandOf({ rawInput }: ToolCallUpdate): string | undefined {
  const { command } = Object(rawInput) as { command?: unknown };
  if (typeof command === "string") return command;
  const isWords = Array.isArray(command) && command.every((word) => typeof word === "string");
  return isWords ? command.join(" ") : undefined;
}

/** @returns The call as a step. */
export function toStep(call: ToolCallUpdate, error: string | undefined): ToolCall {
  const { toolCallId, kind = "other", status = "pending", locations = [], rawInput } = call;
  const isFailed = status === "failed";
  return defined({
    id: toolCallId,
    name: kind,
    arguments: toText(rawInput) ?? "{}",
    title: titleOf(call),
    kind: (toolKinds.has(kind) ? kind : "other") as StepKind,
    state: states[status],
    details: detailsOf(call),
    locations: locations
      .filter(({ path }) => path !== "")
      .slice(0, maxItems)
      .map(({ path, line = 0 }) => ({ path: clip(path, maxPath), ...(line >= 1 && { line }) })),
    result: status === "completed" ? (resultOf(call) ?? "") : undefined,
    error: isFailed ? (error ?? resultOf(call) ?? "The step failed.") : undefined,
  }) as ToolCall;
}

/** @returns The entries of a plan. */
export function toPlan(entries: readonly PlanEntry[]): Entry[] {
  return entries.slice(0, maxEntries).flatMap(({ content, priority, status }) => {
    const text = oneLine(content, 1_000);
    if (text === "") return [];
    const state = states[status ?? "pending"] ?? "pending";
    return [{ content: text, state, ...(priority && { priority }) }];
  });
}

/** Kinds of steps that change something. */
export const changes = (kind: string | undefined): boolean =>
  ["execute", "edit", "delete", "move"].includes(kind ?? "");
