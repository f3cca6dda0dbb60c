import type { AnyPlugin, Section } from "../../kernel/index.ts";

export interface SectionInfo {
  /** `channels.pico`, `launcher`, … */
  readonly section: string;
  /** JSON Schema of each key that some plugin of the list declares. */
  readonly properties: Readonly<Record<string, object>>;
}

/** The sections that the plugins of a list read, with the keys of all of them. */
export function sectionsOf(plugins: readonly AnyPlugin[]): SectionInfo[] {
  const found = new Map<string, Record<string, object>>();
  for (const plugin of plugins) {
    const own = plugin.config as Section<unknown> | undefined;
    if (!own) continue;
    const json: object = own.schema["~standard"].jsonSchema.input({ target: "draft-07" });
    const { properties } = json as { properties?: Record<string, object> };
    found.set(own.section, { ...found.get(own.section), ...properties });
  }
  return [...found].map(([section, properties]) => ({ section, properties }));
}
