/** Fields and answers of questions, for all pages and the server. @module */
import type { FormProperty, QuestionAnswer } from "../../channels/index.ts";
import type { QuestionView } from "./question-views.ts";

/** A value to choose, and its label. */
interface Choice {
  readonly value: string;
  readonly text: string;
}

type Property = Pick<FormProperty, "enum" | "enumNames" | "oneOf" | "items">;

/** @returns Undefined if the field is free. */
export function choicesOf({ items, ...own }: Property): readonly Choice[] | undefined {
  const { enum: values, enumNames } = items ?? own;
  const titled = items ? items.anyOf : own.oneOf;
  if (titled) return titled.map((one) => ({ value: one.const, text: one.title ?? one.const }));
  return values?.map((value, at) => ({ value, text: enumNames?.[at] ?? value }));
}

/** The fields of a form as a browser sends them; values of a schema are named `values.NAME`. */
export type GivenFields = Readonly<Record<string, string | readonly string[] | undefined>>;

/** @returns All texts of a field. */
export const textsOf = (given: GivenFields[string]): readonly string[] =>
  given === undefined ? [] : typeof given === "string" ? [given] : given;

/** @returns Undefined if the field is empty. */
function toValue({ type }: Pick<FormProperty, "type">, given: readonly string[]): unknown {
  if (type === "array") return given.length > 0 ? given : undefined;
  const [text = ""] = given;
  if (text === "") return undefined;
  if (type === "boolean") return text === "true";
  return type === "string" || text.trim() === "" ? text : Number(text);
}

type AskedFields = Pick<QuestionView["question"], "kind" | "multiple" | "schema">;

/** Reads the answer in a form. It is empty if no option is chosen. The channels check it. */
export function toAnswer(
  { kind, multiple, schema }: AskedFields,
  given: GivenFields,
): QuestionAnswer {
  if (given["dismiss"] !== undefined) return { dismiss: true };
  if (kind === "form") {
    const values = Object.entries(schema?.properties ?? {})
      .map(
        ([name, property]) => [name, toValue(property, textsOf(given[`values.${name}`]))] as const,
      )
      .filter(([, value]) => value !== undefined);
    return { values: Object.fromEntries(values) };
  }
  const options = textsOf(given["option"]);
  const text = textsOf(given["text"]).join(" ").trim();
  // The text of a choice replaces its options; that of an approval is a reason.
  if (kind === "choice" && text !== "") return { text };
  const [option] = options;
  return {
    ...(option !== undefined && (multiple === true ? { options } : { option })),
    ...(text !== "" && { text }),
  };
}

/** Why a form was rejected. `field` is empty, or the name of the wrong field. */
export interface FieldProblem {
  readonly field: string;
  readonly text: string;
}

/** The problem of a choice without an answer. */
export const nothingChosen: FieldProblem = { field: "option", text: "Choose an answer first." };

/** @returns Whether a tool call in the form of the program has this id. */
export const hasId = (call: unknown, id: string): boolean =>
  typeof call === "object" && call !== null && "id" in call && call.id === id;
