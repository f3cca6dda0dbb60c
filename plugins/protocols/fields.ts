// Reads typed fields of a request body. `null` counts as absent.
import { isObject } from "../../lib/util.ts";
import { refuse, type Refusal } from "./errors.ts";

/** A JSON object of a client. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const invalidType = (param: string, expected: string): Refusal =>
  refuse("invalid_type", `${param} must be ${expected}.`, { param });
export const unsupported = (param: string, message: string): Refusal =>
  refuse("unsupported_value", message, { param });
export const missing = (param: string): Refusal =>
  refuse("missing_required_parameter", `The field ${param} is missing.`, { param });

/** Reads a key of the object itself, so that inherited names have no effect. */
export function own(object: JsonObject, key: string): unknown {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return value === null ? undefined : value;
}

/** Returns the place of a key, for errors. `parent`: the place of its object in the body. */
const placeOf = (key: string, parent = ""): string => (parent === "" ? key : `${parent}.${key}`);

export function readText(object: JsonObject, key: string, parent?: string): string | undefined {
  const value = own(object, key);
  if (value === undefined || typeof value === "string") return value;
  throw invalidType(placeOf(key, parent), "a string");
}

/** @throws Refusal if the text is missing. */
export function requireText(object: JsonObject, key: string, parent?: string): string {
  const text = readText(object, key, parent);
  if (text === undefined) throw missing(placeOf(key, parent));
  return text;
}

export function readFlag(object: JsonObject, key: string, parent?: string): boolean {
  const value = own(object, key) ?? false;
  if (typeof value !== "boolean") throw invalidType(placeOf(key, parent), "true or false");
  return value;
}

export function readObject(
  object: JsonObject,
  key: string,
  parent?: string,
): JsonObject | undefined {
  const value = own(object, key);
  if (value === undefined || isObject(value)) return value;
  throw invalidType(placeOf(key, parent), "an object");
}

/** Reads a list; an absent one is empty. */
export function readOptionalList(
  object: JsonObject,
  key: string,
  parent?: string,
): readonly unknown[] {
  const value = own(object, key) ?? [];
  if (!Array.isArray(value)) throw invalidType(placeOf(key, parent), "a list");
  return value;
}

/** @throws Refusal if the list is missing. */
export function readList(object: JsonObject, key: string): readonly unknown[] {
  if (own(object, key) === undefined) throw missing(key);
  return readOptionalList(object, key);
}

/** Copies the fields that are not in `names`, without those that are null. */
export const withoutFields = (body: JsonObject, names: ReadonlySet<string>): JsonObject =>
  Object.fromEntries(
    Object.entries(body).filter(([key, value]) => !names.has(key) && value !== null),
  );
