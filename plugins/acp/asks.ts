// Turns permission requests and forms of the agent into questions. Only a person allows anything:
// whatever is not an answer of theirs becomes a no.
import {
  RpcError,
  rpcCodes,
  type ElicitationRequest,
  type ElicitationResult,
  type PermissionOption,
  type PermissionRequest,
  type PermissionResult,
  type ToolCallUpdate,
} from "../../lib/acp-wire/index.ts";
import { codeOf, type Log } from "../../kernel/index.ts";
import { defined, fenceOf, isObject } from "../../lib/util.ts";
import type { FormSchema, QuestionInput, QuestionOption } from "../channels/index.ts";
import type { AgentSession } from "./sessions.ts";
import { clip, commandOf, oneLine, textOf, titleOf } from "./steps.ts";
import type { Turn } from "./turn.ts";

const maxOptions = 8;
const maxContent = 16_000;

const isKind = (kind: string) => (option: PermissionOption) => option.kind === kind;

/**
 * Chooses the options that a question has room for: the first ones, and always one that allows
 * once and one that denies once.
 */
function fitOptions(options: readonly PermissionOption[]): readonly PermissionOption[] {
  if (options.length <= maxOptions) return options;
  const kept = options.slice(0, maxOptions);
  for (const kind of ["allow_once", "reject_once"]) {
    const found = options.find(isKind(kind));
    if (!found || kept.includes(found)) continue;
    // The last one whose kind is there twice makes room.
    const at = kept.findLastIndex(
      (option) => kept.filter((other) => other.kind === option.kind).length > 1,
    );
    kept[at === -1 ? kept.length - 1 : at] = found;
  }
  return kept;
}

const effects: Readonly<Record<string, QuestionOption["effect"]>> = {
  allow_once: "allow",
  allow_always: "allow",
  reject_once: "deny",
  reject_always: "deny",
};

/** An option of the question, and the agent's id of it, which may be too long for a question. */
interface OfferedOption {
  readonly shown: QuestionOption;
  readonly agentId: string;
}

function toOptions(options: readonly PermissionOption[]): readonly OfferedOption[] {
  return fitOptions(options).map(({ optionId, name, kind }, index, all) => {
    const effect = effects[kind];
    const isFirst = all.findIndex(isKind(kind)) === index;
    const shown = {
      // The same for all agents, so that scripts can name it.
      id: isFirst && effect ? kind : `option_${index + 1}`,
      label: oneLine(name, 80) || kind.slice(0, 80) || "Choose",
      ...(effect && { effect }),
      ...(kind.endsWith("_always") && { lasting: true }),
    };
    return { shown, agentId: optionId };
  });
}

/** Everything that a person needs, for channels that show nothing else. */
function contentOf(call: ToolCallUpdate): string {
  const title = titleOf(call);
  const command = commandOf(call);
  const parts = (call.content ?? []).flatMap((item) => {
    if (item.type === "diff") return [`Changes \`${oneLine(item.path, 300).replaceAll("`", "")}\``];
    return item.type === "content" ? [textOf(item.content)] : [];
  });
  const isShown = command === undefined || title.includes(oneLine(command, 256));
  const fence = fenceOf(command ?? "");
  const shownCommand = isShown ? [] : [`${fence}sh\n${clip(command, 4_000)}\n${fence}`];
  return clip([title, ...shownCommand, ...parts].join("\n\n"), maxContent);
}

/** Some agents run steps without asking, which a person who decides here must know. */
function countsOf({ asked, unasked }: AgentSession): string {
  if (unasked === 0) return "";
  const steps = unasked === 1 ? "1 step that changes" : `${unasked} steps that change`;
  return `\n\n_Asked ${asked}, ran ${steps} something without asking in this conversation._`;
}

const cancelled: PermissionResult = { outcome: { outcome: "cancelled" } };

/** @returns A no for the agent: without a decision it would wait, or take the turn for stopped. */
function deny(options: readonly PermissionOption[]): PermissionResult {
  const found = options.find(isKind("reject_once"));
  return found ? { outcome: { outcome: "selected", optionId: found.optionId } } : cancelled;
}

export interface AskContext {
  readonly turn: Turn;
  /** Aborts when the agent withdraws the request, or ends. */
  readonly signal: AbortSignal;
  /** Milliseconds after which the question expires; 0 for never. */
  readonly maxMs: number;
  readonly log: Log;
}

const isShortId = (id: string): boolean => id.length > 0 && id.length <= 256;

const timeout = (maxMs: number) => (maxMs > 0 ? { timeoutMs: maxMs } : {});

/** Asks the people of the session whether a step may run. */
export async function askPermission(
  { toolCall, options }: PermissionRequest,
  { turn, signal, maxMs, log }: AskContext,
): Promise<PermissionResult> {
  // The question names the step, which must be there first.
  const call = await turn.asks(toolCall);
  const offered = toOptions(options);
  const question: QuestionInput = {
    kind: "approval",
    title: oneLine(titleOf(call), 200),
    content: `${contentOf(call)}${countsOf(turn.session)}`,
    ...(isShortId(call.toolCallId) && { toolCallId: call.toolCallId }),
    options: offered.map(({ shown }) => shown),
    signal,
    ...timeout(maxMs),
  };
  try {
    const { outcome, option } = await turn.message.ask(question);
    if (outcome === "stopped") {
      // Before its answer: the agent would take the answer for a no, and go on.
      turn.cancel();
      return cancelled;
    }
    const chosen = offered.find(({ shown }) => shown.id === option);
    return outcome === "answered" && chosen
      ? { outcome: { outcome: "selected", optionId: chosen.agentId } }
      : deny(options);
  } catch (error) {
    const code = codeOf(error);
    log.warn({ code, reason: (error as Error).message }, "a permission could not be asked for");
    if (code !== "stopped") return deny(options);
    turn.cancel();
    return cancelled;
  }
}

/**
 * Copies a schema without null, which means absent, without patterns, which the agent checks,
 * and without fields of options besides the title.
 */
function toSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSchema);
  if (!isObject(value)) return value;
  if (typeof value["const"] === "string")
    return defined({ const: value["const"], title: value["title"] });
  const isProperty = typeof value["type"] === "string";
  const entries = Object.entries(value).filter(
    ([name, item]) => item !== null && name !== "_meta" && !(isProperty && name === "pattern"),
  );
  return Object.fromEntries(entries.map(([name, item]) => [name, toSchema(item)]));
}

/** The values of a field, as the options of a choice. */
interface Choice {
  readonly field: string;
  readonly values: readonly string[];
  readonly question: Pick<QuestionInput, "options" | "multiple" | "title">;
}

/** @returns The values of an enum with their titles; undefined if it is none. */
function valuesOf(field: Readonly<Record<string, unknown>>): [string, string][] | undefined {
  const { enum: plain, enumNames: names, oneOf, anyOf } = field;
  const titled: readonly unknown[] = [oneOf, anyOf].find(Array.isArray) ?? [];
  const items = titled.length > 0 ? titled.filter(isObject) : undefined;
  const values: unknown = items ? items.map((item) => item["const"]) : plain;
  if (!Array.isArray(values) || !values.every((value) => typeof value === "string"))
    return undefined;
  const given = items ? items.map((item) => item["title"]) : names;
  const labels: readonly unknown[] = Array.isArray(given) ? given : [];
  return values.map((value, index) => [value, String(labels[index] ?? value)]);
}

/** A form of one field with few values is a choice, which every client shows as buttons. */
function toChoice(schema: Readonly<Record<string, unknown>>): Choice | undefined {
  const fields = isObject(schema["properties"]) ? Object.entries(schema["properties"]) : [];
  const [[name, field] = ["", undefined], ...others] = fields;
  if (!isObject(field) || others.length > 0) return undefined;
  const multiple = field["type"] === "array";
  const from = multiple ? field["items"] : field;
  const values = isObject(from) ? valuesOf(from) : undefined;
  // A choice has no bounds for the number of its options.
  const isBounded = multiple && ("minItems" in field || "maxItems" in field);
  if (!values || values.length === 0 || values.length > maxOptions || isBounded) return undefined;
  const options = values.map(([, label], index) => ({
    id: `option_${index + 1}`,
    label: oneLine(label, 80) || `${index + 1}`,
  }));
  const title = typeof field["title"] === "string" ? oneLine(field["title"], 200) : "";
  const question = { options, ...(multiple && { multiple }), ...(title !== "" && { title }) };
  return { field: name, values: values.map(([value]) => value), question };
}

/** A form, a choice, or a link that a person opens. */
function toQuestion(request: ElicitationRequest, choice: Choice | undefined): QuestionInput {
  const { mode, requestedSchema, url } = request;
  const content = clip(request.message, maxContent) || "The agent asks for values.";
  if (choice) return { kind: "choice", content, ...choice.question };
  if (mode === "form" && requestedSchema)
    return { kind: "form", schema: toSchema(requestedSchema) as FormSchema, content };
  if (mode === "url" && url !== undefined) return { kind: "link", url, content };
  throw new RpcError(rpcCodes.invalidParams, 'Expected the mode "form" or "url"');
}

/** @returns The chosen values, as the form has them. */
function chosenValues({ field, values, question }: Choice, ids: readonly string[]) {
  const chosen = (question.options ?? []).flatMap(({ id }, index) =>
    ids.includes(id) ? values[index]! : [],
  );
  return { [field]: question.multiple === true ? chosen : chosen[0] };
}

/** Asks the people of the session for values, or to open a link. */
export async function askForm(
  request: ElicitationRequest,
  { turn, signal, maxMs, log }: AskContext,
): Promise<ElicitationResult> {
  const { mode, requestedSchema } = request;
  const choice = mode === "form" && requestedSchema ? toChoice(requestedSchema) : undefined;
  const question = toQuestion(request, choice);
  await turn.settleTexts();
  try {
    const result = await turn.message.ask({ ...question, signal, ...timeout(maxMs) });
    const { outcome, effect, values, option, options } = result;
    if (outcome === "stopped") turn.cancel();
    if (outcome === "dismissed") return { action: "decline" };
    if (outcome !== "answered") return { action: "cancel" };
    if (values) return { action: "accept", content: values };
    if (choice) {
      const chosen = options ?? (option === undefined ? [] : [option]);
      return { action: "accept", content: chosenValues(choice, chosen) };
    }
    return { action: effect === "allow" ? "accept" : "decline" };
  } catch (error) {
    // Such as a form that asks for a password: Doorward shows none.
    const code = codeOf(error);
    log.warn({ code, reason: (error as Error).message }, "a form of the agent was declined");
    if (code === "stopped") turn.cancel();
    return { action: code === "stopped" ? "cancel" : "decline" };
  }
}
