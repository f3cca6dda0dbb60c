import type { AnyPlugin, Section } from "../../kernel/index.ts";

export interface SectionInfo {
  /** `channels.pico`, `launcher`, … */
  readonly section: string;
  /** JSON Schema of each key that some plugin of the list declares. */
  readonly properties: Readonly<Record<string, object>>;
}

/** Making one takes a millisecond, and a start asks for each several times. */
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

/** The sections that the plugins of a list read, with the keys of all of them. */
export function sectionsOf(plugins: readonly AnyPlugin[]): SectionInfo[] {
  const found = new Map<string, Record<string, object>>();
  for (const plugin of plugins) {
    const own = plugin.config as Section<unknown> | undefined;
    if (!own) continue;
    found.set(own.section, { ...found.get(own.section), ...propertiesOf(own) });
  }
  return [...found].map(([section, properties]) => ({ section, properties }));
}
