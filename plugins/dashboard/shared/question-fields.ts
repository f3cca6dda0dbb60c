/** Fields and addresses of questions, for all pages. @module */
import type { FormProperty } from "../../channels/index.ts";

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

const inputTypes: Readonly<Record<string, "email" | "url" | "date" | "number">> = {
  email: "email",
  uri: "url",
  date: "date",
  integer: "number",
  number: "number",
};

/** @returns The type of the `input` element for a free field. */
export const inputTypeOf = ({ type, format }: Pick<FormProperty, "type" | "format">): string =>
  inputTypes[format ?? type] ?? "text";

/** An address that a person may open. */
interface WebAddress {
  readonly url: URL;
  /** True if the name has letters of other scripts, which may look like others. */
  readonly isForeign: boolean;
}

/** @returns Undefined unless the scheme is http or https: others could start a program. */
export function readWebAddress(text: string): WebAddress | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  return { url, isForeign: /(?:^|\.)xn--/.test(url.hostname) };
}
