// Questions on the wire: the field `question` of a message, and the frames of an answer.
import type { Envelope } from "./messages.ts";
import { asObject, ownValue, withoutPrototypeKeys, type JsonObject } from "./json.ts";

/** An answer that a person can choose. */
export interface WireOption {
  /** Identifies the option within its question. */
  readonly id: string;
  /** Text of the button. */
  readonly label: string;
  /** Explains the option. */
  readonly description?: string;
  /** Whether the option allows what is asked. */
  readonly effect?: "allow" | "deny";
  /** True if the application remembers the choice. */
  readonly lasting?: boolean;
}

/** How a question ended. */
export interface WireSettlement {
  /** `answered`, `dismissed`, `expired`, `stopped`, `withdrawn` or `lost`. */
  readonly outcome: string;
  /** Id of the chosen option. */
  readonly option?: string;
  /** Ids of the chosen options. */
  readonly options?: readonly string[];
  /** The values of a form. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Free text or a reason. */
  readonly text?: string;
  /** The person, as the server knows them. */
  readonly by?: { readonly id: string; readonly name?: string };
  /** Where the answer came from, such as `dashboard`, `cli` or `pico`. */
  readonly via: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** The question of a message. Ignore unknown kinds: `content` has everything a person needs. */
export interface WireQuestion {
  /** `approval`, `choice`, `form` or `link`. */
  readonly kind: string;
  /** The subject in one line. */
  readonly title?: string;
  /** Id of the tool call behind the question. */
  readonly tool_call_id?: string;
  /** The answers to choose from. */
  readonly options?: readonly WireOption[];
  /** True if several options may be chosen. */
  readonly multiple?: boolean;
  /** True if a text may replace an option. */
  readonly other?: boolean;
  /** The fields of a form, as JSON Schema. Not validated by the decoder. */
  readonly schema?: unknown;
  /** The address of a link. */
  readonly url?: string;
  /** Unix milliseconds; absent for never. */
  readonly expires_at?: number;
  /** `open` until it is `settled`. */
  readonly state: "open" | "settled";
  /** How it was settled. */
  readonly settled?: WireSettlement;
}

/** An answer to a question. */
export interface AnswerPayload {
  /** Id of the question. */
  readonly message_id: string;
  /** Id of the chosen option. */
  readonly option?: string;
  /** Ids of the chosen options. */
  readonly options?: readonly string[];
  /** The values of a form. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Free text or a reason: at most 4 KiB. */
  readonly text?: string;
  /** Closes the question without a choice. */
  readonly dismiss?: boolean;
  /** Kind of the client, for display: `acp` for an editor. Others do not count. */
  readonly via?: string;
}

/** Answers a question. Sent by clients that asked for `questions`. */
export interface QuestionAnswerFrame extends Envelope {
  /** The server replies with `question.ack`. */
  readonly type: "question.answer";
  /** The answer. */
  readonly payload: AnswerPayload;
}

/** The effect of an answer. */
export interface QuestionAck {
  /** The `id` of the `question.answer`. */
  readonly request_id?: string;
  /** Id of the question. */
  readonly message_id: string;
  /** `settled`, `already`, `unknown`, `invalid` or `forbidden`; `failed` if it was not stored. */
  readonly status: string;
  /** How the question was settled, with `settled` and `already`. */
  readonly settled?: WireSettlement;
  /** The problem of the answer. */
  readonly problem?: string;
}

/** Reports the effect of an answer to the client that gave it. */
export interface QuestionAckFrame extends Envelope {
  /** Follows the update that settles the question. */
  readonly type: "question.ack";
  /** The effect. */
  readonly payload: QuestionAck;
}

/** Ends the text of an open question, for clients that show only text. */
const questionHint = "Answer in the dashboard or with `doorward answer`.";

/** @returns The text of the message of an open question. */
export const askedText = (content: string): string => `${content}\n\n${questionHint}`;

/** @returns What is asked, from the text of an open question. */
export const questionContent = (text: string): string =>
  text.endsWith(`\n\n${questionHint}`) ? text.slice(0, -questionHint.length - 2) : text;

const maxText = 4_096;
const textOf = (object: JsonObject, key: string): string | undefined => {
  const value = ownValue(object, key);
  return typeof value === "string" ? value.slice(0, maxText).toWellFormed() : undefined;
};
const textFields = <K extends string>(
  object: JsonObject,
  ...keys: readonly K[]
): { readonly [P in K]?: string } =>
  Object.fromEntries(
    keys.map((key) => [key, textOf(object, key)]).filter(([, text]) => text !== undefined),
  ) as { [P in K]?: string };
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const numberOf = (object: JsonObject, key: string): number | undefined => {
  const value = ownValue(object, key);
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
};

function readOption(value: unknown): WireOption[] {
  const object = asObject(value);
  const id = object && textOf(object, "id");
  if (object === undefined || id === undefined) return [];
  const effect = ownValue(object, "effect");
  return [
    {
      id,
      label: textOf(object, "label") ?? id,
      ...textFields(object, "description"),
      ...((effect === "allow" || effect === "deny") && { effect }),
      ...(ownValue(object, "lasting") === true && { lasting: true }),
    },
  ];
}

/** @returns How a question was settled; undefined if the value does not say it. */
function readSettlement(value: unknown): WireSettlement | undefined {
  const object = asObject(value);
  const outcome = object && textOf(object, "outcome");
  if (object === undefined || outcome === undefined) return undefined;
  const by = asObject(ownValue(object, "by"));
  const id = by && textOf(by, "id");
  const options = ownValue(object, "options");
  const values = asObject(ownValue(object, "values"));
  return {
    outcome,
    ...textFields(object, "option", "text"),
    ...(Array.isArray(options) && {
      options: options.filter((item) => typeof item === "string").slice(0, 64),
    }),
    ...(values && { values: withoutPrototypeKeys(values) as Record<string, unknown> }),
    ...(by && id !== undefined && { by: { id, ...textFields(by, "name") } }),
    via: textOf(object, "via") ?? "",
    at: numberOf(object, "at") ?? 0,
  };
}

/** @returns The question of a message; undefined if the value is none. */
export function readQuestion(value: unknown): WireQuestion | undefined {
  const object = asObject(value);
  const kind = object && textOf(object, "kind");
  if (object === undefined || kind === undefined) return undefined;
  const options = listOf(ownValue(object, "options")).slice(0, 64).flatMap(readOption);
  const schema = ownValue(object, "schema");
  const expires = numberOf(object, "expires_at");
  const settled = readSettlement(ownValue(object, "settled"));
  const isSettled = settled !== undefined || ownValue(object, "state") !== "open";
  return {
    kind,
    ...textFields(object, "title", "tool_call_id", "url"),
    ...(options.length > 0 && { options }),
    ...(ownValue(object, "multiple") === true && { multiple: true }),
    ...(ownValue(object, "other") === true && { other: true }),
    ...(schema !== undefined && { schema: withoutPrototypeKeys(schema) }),
    ...(expires !== undefined && { expires_at: expires }),
    state: isSettled ? "settled" : "open",
    ...(settled && { settled }),
  };
}

/** @returns The effect of an answer. */
export function readQuestionAck(payload: JsonObject): QuestionAck {
  const settled = readSettlement(ownValue(payload, "settled"));
  return {
    ...textFields(payload, "request_id", "problem"),
    message_id: textOf(payload, "message_id") ?? "",
    status: textOf(payload, "status") ?? "",
    ...(settled && { settled }),
  };
}

/** Reads an answer of a client. The question checks the values. */
export function readAnswer(payload: JsonObject): AnswerPayload {
  const options = ownValue(payload, "options");
  const values = asObject(ownValue(payload, "values"));
  const text = ownValue(payload, "text");
  return {
    message_id: textOf(payload, "message_id") ?? "",
    ...textFields(payload, "option", "via"),
    ...(Array.isArray(options) && { options: options.slice(0, 64) as string[] }),
    // The question rejects a field that its form lacks, whatever its name.
    ...(values && { values }),
    // A longer text is invalid: it is not cut.
    ...(text !== undefined && { text: text as string }),
    ...(ownValue(payload, "dismiss") === true && { dismiss: true }),
  };
}
