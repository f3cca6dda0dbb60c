/** Reads the fields of a form as the values of its schema. Loaded after the page. @module */
import type { AskedQuestion } from "../state/thread.ts";

type Properties = NonNullable<AskedQuestion["schema"]>["properties"];
export type Property = Properties[string];

function readValue({ type }: Property, name: string, data: FormData): unknown {
  const text = String(data.get(name) ?? "");
  if (type === "boolean") return data.has(name);
  if (type === "array") return data.getAll(name).map(String);
  if (text === "") return undefined;
  return type === "string" ? text : Number(text);
}

/** Fields without a value are left out. The server checks the values. */
export const readValues = (
  properties: Properties,
  data: FormData,
): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(properties)
      .map(([name, property]) => [name, readValue(property, name, data)] as const)
      .filter(([, value]) => value !== undefined),
  );
