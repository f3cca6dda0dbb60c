// Small functions without product knowledge, for every part of the project.

type Defined<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** Copies the object without the keys whose value is undefined. */
export const defined = <T extends object>(object: T): Defined<T> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as never;

/** Whether the value is an object, and neither an array nor null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Formats Unix milliseconds as `2026-11-22 07:14:39 UTC`. */
export const formatUtc = (timestampMs: number): string =>
  `${new Date(timestampMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
