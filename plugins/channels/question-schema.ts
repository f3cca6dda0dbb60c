// Checks a question of the application, and completes it.
import * as z from "zod";
import { defined, isObject } from "../../lib/util.ts";
import { channelsErrors } from "./errors.ts";
import { secretField, withStoredHints } from "./secret-words.ts";
import type { DurableQuestionInput, FormSchema, Question, QuestionInput } from "./contract.ts";

/** Longest time until a question expires. */
const maxTimeoutMs = 7 * 86_400_000;
const maxContentBytes = 64 * 1_024;
const maxSchemaBytes = 16 * 1_024;
const maxProperties = 20;

const option = z.object({
  id: z.string().min(1).max(64),
  label: z.string().min(1).max(80),
  description: z.string().max(300).optional(),
  effect: z.enum(["allow", "deny"]).optional(),
  lasting: z.boolean().optional(),
});

const isWebUrl = (url: string): boolean =>
  URL.canParse(url) && ["http:", "https:"].includes(new URL(url).protocol);

const questionSchema = z.object({
  kind: z.enum(["approval", "choice", "form", "link"]),
  content: z
    .string()
    .min(1)
    .refine((text) => Buffer.byteLength(text) <= maxContentBytes, "expected at most 64 KiB"),
  title: z.string().max(200).optional(),
  toolCallId: z.string().min(1).max(256).optional(),
  options: z.array(option).min(1).max(8).optional(),
  multiple: z.boolean().optional(),
  other: z.boolean().optional(),
  schema: z.unknown().optional(),
  url: z.string().max(2_048).refine(isWebUrl, "expected an http or https address").optional(),
  timeoutMs: z.number().min(1).max(maxTimeoutMs).optional(),
  durable: z.string().min(1).max(128).optional(),
  signal: z
    .custom<AbortSignal>(
      (value) => typeof Object(value).addEventListener === "function",
      "expected an AbortSignal",
    )
    .optional(),
});

const label = z.string().max(300).optional();
const texts = z.array(z.string().max(256)).min(1).max(100);
const titled = z.array(z.strictObject({ const: z.string().max(256), title: label }));
const titledTexts = titled.min(1).max(100);
const length = z.int().min(0).max(65_536).optional();
const named = { title: label, description: z.string().max(1_000).optional() };

const property = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("string"),
    ...named,
    default: z.string().max(4_096).optional(),
    minLength: length,
    maxLength: length,
    format: z.enum(["email", "uri", "date", "date-time"]).optional(),
    enum: texts.optional(),
    enumNames: texts.optional(),
    oneOf: titledTexts.optional(),
  }),
  z.strictObject({
    type: z.enum(["number", "integer"]),
    ...named,
    default: z.number().optional(),
    minimum: z.number().optional(),
    maximum: z.number().optional(),
  }),
  z.strictObject({
    type: z.literal("boolean"),
    ...named,
    default: z.boolean().optional(),
  }),
  z.strictObject({
    type: z.literal("array"),
    ...named,
    default: z.array(z.string().max(256)).max(100).optional(),
    minItems: length,
    maxItems: length,
    items: z.union([
      z.strictObject({
        type: z.literal("string").optional(),
        enum: texts,
        enumNames: texts.optional(),
      }),
      z.strictObject({ type: z.literal("string").optional(), anyOf: titledTexts }),
    ]),
  }),
]);

const formSchema = z.strictObject({
  type: z.literal("object"),
  ...named,
  properties: z.record(z.string().min(1).max(64), property),
  required: z.array(z.string().max(64)).max(maxProperties).optional(),
});

/** @returns The first problem as `"path": sentence`. */
function problemOf({ issues: [issue] }: z.ZodError, ...before: readonly string[]): string {
  const path = [...before, ...(issue?.path ?? [])].join(".");
  return `${path ? `"${path}": ` : ""}${issue?.message ?? "not a question"}`;
}

/** Leaves out what libraries add to a schema, and what is true for every form. */
function withoutMarks(schema: unknown): unknown {
  if (!isObject(schema)) return schema;
  const { $schema: _, additionalProperties, ...rest } = schema;
  return additionalProperties === undefined || additionalProperties === false
    ? rest
    : { ...rest, additionalProperties };
}

/**
 * @param texts - Texts around the form.
 * @throws unsupported_question
 */
function parseForm(given: unknown, texts: readonly string[]): FormSchema {
  const schema = withoutMarks(given);
  const unsupported = channelsErrors.unsupported_question;
  if (Buffer.byteLength(JSON.stringify(schema) ?? "") > maxSchemaBytes)
    throw unsupported('"schema" has more than 16 KiB');
  const result = formSchema.safeParse(schema);
  if (!result.success) throw unsupported(problemOf(result.error, "schema"));
  const names = Object.keys(result.data.properties);
  if (names.length === 0 || names.length > maxProperties)
    throw unsupported(`"schema.properties" must have 1 to ${maxProperties} properties`);
  const form = result.data as FormSchema;
  const secret = secretField(form);
  if (secret !== undefined)
    throw unsupported(`"schema.properties.${secret}" asks for a secret, which would be stored`);
  const missing = result.data.required?.find((name) => !names.includes(name));
  if (missing !== undefined) throw unsupported(`"schema.required" names no property "${missing}"`);
  return withStoredHints(form, [form.title ?? "", form.description ?? "", ...texts]);
}

const allow = { id: "allow", label: "Allow", effect: "allow" } as const;
const open = { id: "open", label: "Open", effect: "allow" } as const;
const deny = { id: "deny", label: "Deny", effect: "deny" } as const;

/** @returns The options, with a no for questions that allow something. */
function optionsOf(kind: Question["kind"], given: Question["options"]): Question["options"] {
  const invalid = channelsErrors.invalid_question;
  if (kind === "form") {
    if (given) throw invalid('"options": a form has none');
    return undefined;
  }
  if (kind === "choice" && !given) throw invalid('"options": a choice needs 1 to 8 of them');
  const options = given ?? [kind === "link" ? open : allow];
  const hasNo = kind === "choice" || options.some(({ effect }) => effect === "deny");
  const complete = hasNo ? options : [...options, deny];
  const ids = new Set(complete.map(({ id }) => id));
  if (ids.size < complete.length) throw invalid('"options": two of them have the same id');
  return complete;
}

/** A question that has the right form. */
interface ParsedQuestion {
  readonly content: string;
  readonly question: Question;
}

/**
 * Checks a question.
 *
 * @param now - Unix milliseconds.
 * @throws invalid_question, unsupported_question
 */
export function parseQuestion(
  input: QuestionInput | DurableQuestionInput,
  now: number,
): ParsedQuestion {
  const result = questionSchema.safeParse(input);
  if (!result.success) throw channelsErrors.invalid_question(problemOf(result.error));
  const { content, timeoutMs, schema, options, signal: _, ...given } = result.data;
  const { kind, url, multiple, other } = given;
  const invalid = channelsErrors.invalid_question;
  if ((kind === "form") !== (schema !== undefined))
    throw invalid('"schema": a form needs one, and no other kind has one');
  if ((kind === "link") !== (url !== undefined))
    throw invalid('"url": a link needs one, and no other kind has one');
  if (kind !== "choice" && (multiple === true || other === true))
    throw invalid('"multiple" and "other": only a choice has them');
  const question = defined({
    ...given,
    options: optionsOf(kind, options as Question["options"]),
    schema: schema === undefined ? undefined : parseForm(schema, [content, given.title ?? ""]),
    expiresAt: timeoutMs === undefined ? undefined : now + timeoutMs,
    state: "open",
  });
  return { content: content.toWellFormed(), question: question as Question };
}
