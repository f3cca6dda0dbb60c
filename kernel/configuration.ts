import { codeOf, kernelErrors } from "./errors.ts";
import { hint } from "./suggest.ts";
import type { Awaitable, Configuration, Section } from "./plugin.ts";
import type { AnyPlugin } from "./wiring.ts";

type Raw = Readonly<Record<string, unknown>>;
type Apply = (next: any, before: any) => Awaitable<{ afterRestart?: string[]; ignored?: string[] } | void>;

interface Reader {
  readonly plugin: string;
  readonly section: Section<unknown>;
  readonly keys: readonly string[];
  value: unknown;
  readonly applies: Apply[];
}

export interface Configured extends Configuration {
  value(plugin: string): unknown;
  onConfig(plugin: string, apply: Apply): void;
}

const jsonSchemaOf = ({ schema }: Section<unknown>): { properties?: object } =>
  schema["~standard"].jsonSchema.input({ target: "draft-07" });

function validate(reader: Reader, raw: Raw): unknown {
  const own = Object.fromEntries(reader.keys.filter((key) => Object.hasOwn(raw, key)).map((key) => [key, raw[key]]));
  const { section, schema } = reader.section;
  const result = schema["~standard"].validate(own) as
    | { value: unknown; issues?: undefined }
    | { issues: readonly { message: string; path?: readonly (PropertyKey | { key: PropertyKey })[] }[] }
    | Promise<unknown>;
  if (result instanceof Promise) throw kernelErrors.KERNEL_BAD_CONFIG(section, "its schema is asynchronous");
  if (!result.issues) return result.value;
  const [issue] = result.issues;
  const path = (issue?.path ?? []).map((step) => String(typeof step === "object" ? step.key : step));
  const problem = lowerFirst(issue?.message ?? "it does not fit its schema");
  const details = { section, field: path.join(".") };
  throw kernelErrors.KERNEL_BAD_CONFIG([section, ...path].join("."), problem, { details });
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1).replace(/\.$/, "");

/** Validates each plugin's section and hands changes to all plugins of a section or to none. */
export function createConfiguration(
  roster: readonly AnyPlugin[], given: Raw, fault: (plugin: string, during: string, error: unknown) => void,
): Configured {
  const readers: Reader[] = roster.flatMap((plugin) => {
    const section = plugin.config as Section<unknown> | undefined;
    if (!section) return [];
    const keys = Object.keys(jsonSchemaOf(section).properties ?? {});
    return [{ plugin: plugin.name, section, keys, value: undefined, applies: [] }];
  });
  const sections = new Map<string, Reader[]>();
  for (const each of readers) sections.set(each.section.section, [...(sections.get(each.section.section) ?? []), each]);

  const readersOf = (section: string): Reader[] => {
    const found = sections.get(section);
    if (!found) throw kernelErrors.KERNEL_UNKNOWN_SECTION(section, hint(section, sections.keys()));
    return found;
  };
  const checked = (section: string, raw: unknown): Map<Reader, unknown> => {
    const own = readersOf(section);
    if (typeof raw !== "object" || raw === null || Array.isArray(raw)) {
      throw kernelErrors.KERNEL_BAD_CONFIG(section, "expected an object with settings");
    }
    const known = own.flatMap(({ keys }) => keys);
    for (const key of Object.keys(raw)) {
      if (key === "token") throw kernelErrors.KERNEL_TOKEN_IN_CONFIG(`${section}.${key}`);
      if (!known.includes(key)) throw kernelErrors.KERNEL_UNKNOWN_KEY(`${section}.${key}`, hint(key, known));
    }
    return new Map(own.map((reader) => [reader, validate(reader, raw as Raw)]));
  };

  for (const section of Object.keys(given)) readersOf(section);
  for (const section of sections.keys()) {
    for (const [reader, value] of checked(section, given[section] ?? {})) reader.value = value;
  }

  return {
    value: (plugin) => readers.find((reader) => reader.plugin === plugin)?.value,
    onConfig: (plugin, apply) => void readers.find((reader) => reader.plugin === plugin)?.applies.push(apply),
    describe: () =>
      [...sections].map(([section, own]) => ({
        section,
        schema: mergedSchema(own),
        value: Object.assign({}, ...own.map(({ value }) => value)),
      })),
    async apply(section, raw) {
      const changes = [...checked(section, raw)].filter(([reader, value]) => changedKeys(reader.value, value).length);
      const afterRestart = new Set<string>();
      const taken: { plugin: string; back: () => Awaitable<unknown> }[] = [];
      const changed = new Set<string>();
      try {
        for (const [reader, next] of changes) {
          const before = reader.value;
          for (const key of changedKeys(before, next)) changed.add(key);
          if (reader.applies.length === 0) changedKeys(before, next).forEach((key) => afterRestart.add(key));
          reader.value = next;
          taken.push({ plugin: reader.plugin, back: () => { reader.value = before; } });
          for (const apply of reader.applies) {
            const answer = await apply(next, before);
            taken.push({ plugin: reader.plugin, back: () => apply(before, next) });
            for (const key of answer?.afterRestart ?? []) afterRestart.add(key);
            for (const key of answer?.ignored ?? []) changed.delete(key);
          }
        }
      } catch (error) {
        // Who took the change is given the old value back; the first refusal is what the caller hears.
        for (const { plugin, back } of taken.reverse()) {
          await Promise.resolve().then(back).catch((failure: unknown) => fault(plugin, "onConfig", failure));
        }
        throw codeOf(error) === "internal"
          ? kernelErrors.KERNEL_BAD_CONFIG(section, "a plugin could not take the change", { cause: error })
          : error;
      }
      return { now: [...changed].filter((key) => !afterRestart.has(key)), afterRestart: [...afterRestart] };
    },
  };
}

function changedKeys(before: unknown, next: unknown): string[] {
  const [a, b] = [before ?? {}, next ?? {}] as [Record<string, unknown>, Record<string, unknown>];
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].filter((key) => JSON.stringify(a[key]) !== JSON.stringify(b[key]));
}

function mergedSchema(readers: readonly Reader[]): object {
  const schemas = readers.map(({ section }) => jsonSchemaOf(section));
  return { ...schemas[0], properties: Object.assign({}, ...schemas.map(({ properties }) => properties)) };
}
