// The sections that plugins declare, and the validation of their values.
import { didYouMean, type AnyPlugin, type Section } from "../../kernel/index.ts";
import { loadErrors } from "./errors.ts";

export interface SectionInfo {
  /** `channels.pico`, `launcher`, … */
  readonly section: string;
  /** JSON Schema of each key that a plugin declares. */
  readonly properties: Readonly<Record<string, object>>;
}

/** Cached: a conversion takes 1 ms, and startup needs each several times. */
const propertiesBySchema = new WeakMap<object, Readonly<Record<string, object>>>();

function propertiesOf({ schema }: Section<unknown>): Readonly<Record<string, object>> {
  const known = propertiesBySchema.get(schema);
  if (known) return known;
  const { properties = {} } = schema["~standard"].jsonSchema.input({ target: "draft-07" }) as {
    properties?: Record<string, object>;
  };
  propertiesBySchema.set(schema, properties);
  return properties;
}

/** @returns The sections that `plugins` declare, with the keys of all plugins merged. */
export function sectionsOf(plugins: readonly AnyPlugin[]): SectionInfo[] {
  const found = new Map<string, Record<string, object>>();
  for (const plugin of plugins) {
    const own = plugin.config as Section<unknown> | undefined;
    if (!own) continue;
    found.set(own.section, { ...found.get(own.section), ...propertiesOf(own) });
  }
  return [...found].map(([section, properties]) => ({ section, properties }));
}

type RawValues = Readonly<Record<string, unknown>>;
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/**
 * Validates the settings of each plugin as the kernel does, but names the file, variable or flag of
 * an invalid value.
 *
 * @throws CONFIG_NOT_VALID for the first invalid value.
 */
export function checkValues(
  plugins: readonly AnyPlugin[],
  config: Readonly<Record<string, RawValues>>,
  whence: (section: string, field: string) => string,
): void {
  for (const plugin of plugins) {
    const own = plugin.config as Section<unknown> | undefined;
    if (!own) continue;
    const { section, schema } = own;
    const known = Object.keys(sectionsOf([plugin])[0]?.properties ?? {});
    const raw = Object.fromEntries(
      Object.entries(config[section] ?? {}).filter(([key]) => known.includes(key)),
    );
    const result = schema["~standard"].validate(raw);
    const [issue] =
      result instanceof Promise
        ? [{ message: "its schema is asynchronous", path: [] }]
        : ((result as { issues?: readonly Issue[] }).issues ?? []);
    if (!issue) continue;
    const path = (issue.path ?? []).map((step) =>
      String(typeof step === "object" ? step.key : step),
    );
    const name = [...(section === "launcher" ? [] : [section]), ...path].join(".");
    const problem =
      issue.message.slice(0, 1).toLowerCase() + issue.message.slice(1).replace(/\.$/, "");
    throw loadErrors.CONFIG_NOT_VALID(whence(section, path[0] ?? ""), name, problem, {
      details: { section, field: path.join(".") },
    });
  }
}

/** @returns A sentence that suggests the most similar known word, or lists all of them. */
export function suggestOneOf(word: string, known: readonly string[]): string {
  return didYouMean(word, known) || ` Known: ${known.join(", ")}.`;
}
