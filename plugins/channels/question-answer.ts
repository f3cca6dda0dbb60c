// Checks an answer against its question.
import { isObject } from "../../lib/util.ts";
import type {
  FormProperty,
  FormSchema,
  Question,
  QuestionAnswer,
  QuestionSettlement,
} from "./contract.ts";

/** The effect of an answer: an outcome with the fields that belong to it. */
type CheckedAnswer = Omit<QuestionSettlement, "by" | "via" | "at">;

const maxTextBytes = 4_096;
/** Longest text of a form field without a limit of its own. */
const maxFieldLength = 4_096;

class InvalidAnswer extends Error {}
const invalid = (field: string, expected: string): never => {
  throw new InvalidAnswer(`"${field}": ${expected}`);
};

const dateForm = /^\d{4}-\d{2}-\d{2}$/;
const timeForm =
  /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?$/;
const emailForm = /^[^\s@]{1,64}@[^\s@]{1,255}$/;

/** `Date.parse` accepts 30 February as a day of March. */
function isDate(text: string): boolean {
  const [year, month, day] = text.slice(0, 10).split("-").map(Number) as [number, number, number];
  const found = new Date(Date.UTC(2_000, month - 1, day));
  found.setUTCFullYear(year, month - 1, day);
  return found.getUTCMonth() === month - 1 && !Number.isNaN(Date.parse(text));
}
const formats: Readonly<Record<string, (text: string) => boolean>> = {
  email: (text) => emailForm.test(text),
  uri: (text) => URL.canParse(text),
  date: (text) => dateForm.test(text) && isDate(text),
  "date-time": (text) => timeForm.test(text) && isDate(text),
};

type Choices = Pick<FormProperty, "enum" | "oneOf"> & {
  readonly anyOf?: readonly { readonly const: string }[];
};
const choicesOf = ({ enum: texts, oneOf, anyOf }: Choices): readonly string[] | undefined =>
  texts ?? (oneOf ?? anyOf)?.map((choice) => choice.const);

function checkText(field: string, value: unknown, property: FormProperty): void {
  if (typeof value !== "string") return invalid(field, "expected a text");
  const choices = choicesOf(property);
  if (choices && !choices.includes(value)) invalid(field, "expected one of the choices");
  const { minLength = 0, maxLength = maxFieldLength, format } = property;
  const { length } = value;
  if (length < minLength) invalid(field, `expected at least ${minLength} characters`);
  if (length > maxLength) invalid(field, `expected at most ${maxLength} characters`);
  if (format && !formats[format]!(value)) invalid(field, `expected the format ${format}`);
}

function checkNumber(field: string, value: unknown, property: FormProperty): void {
  const { type, minimum = -Infinity, maximum = Infinity } = property;
  if (typeof value !== "number" || !Number.isFinite(value))
    return invalid(field, "expected a number");
  if (type === "integer" && !Number.isSafeInteger(value)) invalid(field, "expected a whole number");
  if (value < minimum) invalid(field, `expected at least ${minimum}`);
  if (value > maximum) invalid(field, `expected at most ${maximum}`);
}

const counted = (items: number): string => `${items} ${items === 1 ? "item" : "items"}`;

function checkList(field: string, value: unknown, property: FormProperty): void {
  if (!Array.isArray(value)) return invalid(field, "expected a list");
  const choices = choicesOf(property.items ?? {}) ?? [];
  const { minItems = 0, maxItems = choices.length } = property;
  if (new Set(value).size < value.length || !value.every((item) => choices.includes(item)))
    invalid(field, "expected different items of the choices");
  if (value.length < minItems) invalid(field, `expected at least ${counted(minItems)}`);
  if (value.length > maxItems) invalid(field, `expected at most ${counted(maxItems)}`);
}

function checkField(field: string, value: unknown, property: FormProperty): void {
  if (property.type === "string") checkText(field, value, property);
  else if (property.type === "array") checkList(field, value, property);
  else if (property.type !== "boolean") checkNumber(field, value, property);
  else if (typeof value !== "boolean") invalid(field, "expected true or false");
}

function checkValues(schema: FormSchema, values: unknown): Readonly<Record<string, unknown>> {
  if (!isObject(values)) return invalid("values", "expected an object");
  const checked = new Map<string, unknown>();
  for (const [name, value] of Object.entries(values)) {
    if (!Object.hasOwn(schema.properties, name))
      invalid(`values.${name.slice(0, 64)}`, "the form has no such field");
    checkField(`values.${name}`, value, schema.properties[name]!);
    checked.set(name, typeof value === "string" ? value.toWellFormed() : value);
  }
  for (const name of schema.required ?? [])
    if (!checked.has(name)) invalid(`values.${name}`, "a value is required");
  return Object.fromEntries(checked);
}

function checkOption({ options = [] }: Question, id: unknown, field: string): string {
  const found = options.find((option) => option.id === id);
  return found?.id ?? invalid(field, "expected the id of an option");
}

function checkOptions(question: Question, ids: unknown): readonly string[] {
  if (!Array.isArray(ids) || ids.length === 0 || new Set(ids).size < ids.length)
    return invalid("options", "expected different ids of options");
  return ids.map((id) => checkOption(question, id, "options"));
}

function checkReason(text: unknown): { readonly text?: string } {
  if (text === undefined || text === "") return {};
  if (typeof text !== "string" || Buffer.byteLength(text) > maxTextBytes)
    return invalid("text", "expected a text of at most 4 KiB");
  return { text: text.toWellFormed() };
}

function check(question: Question, answer: QuestionAnswer): CheckedAnswer {
  const { option, options, values, dismiss } = answer;
  const text = checkReason(answer.text);
  const given = { option, options, values, dismiss: dismiss === true || undefined };
  const [field, ...others] = Object.entries(given).filter(([, value]) => value !== undefined);
  if (others.length > 0) invalid(others[0]![0], `"${field![0]}" is set, too`);
  if (dismiss === true) return { outcome: "dismissed", ...text };
  const outcome = "answered";
  if (question.kind === "form") {
    return { outcome, values: checkValues(question.schema!, values), ...text };
  }
  if (values !== undefined) invalid("values", "the question is not a form");
  if (options !== undefined) {
    if (!question.multiple) invalid("options", "the question permits one option");
    return { outcome, options: checkOptions(question, options), ...text };
  }
  if (option === undefined && question.other && text.text !== undefined)
    return { outcome, ...text };
  const chosen = checkOption(question, option, "option");
  return question.multiple
    ? { outcome, options: [chosen], ...text }
    : { outcome, option: chosen, ...text };
}

/** @returns What the answer settles, or a sentence that names the wrong field. */
export function checkAnswer(question: Question, answer: QuestionAnswer): CheckedAnswer | string {
  try {
    return check(question, answer);
  } catch (error) {
    if (error instanceof InvalidAnswer) return error.message;
    throw error;
  }
}

/** @returns Whether the answer allows what was asked. */
export function effectOf(
  { options = [] }: Question,
  { option }: Pick<QuestionAnswer, "option">,
): "allow" | "deny" | undefined {
  return option === undefined ? undefined : options.find(({ id }) => id === option)?.effect;
}
