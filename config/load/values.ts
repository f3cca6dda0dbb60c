import type { AnyPlugin, Section } from "../../kernel/index.ts";
import { loadErrors } from "./errors.ts";
import { sectionsOf } from "./sections.ts";

type RawValues = Readonly<Record<string, unknown>>;
interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
}

/** Refuses what a plugin's schema refuses, as the kernel would, and names the file, variable or flag it comes from. */
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
    if (result instanceof Promise) continue; // the kernel says what it thinks of that
    const [issue] = (result as { issues?: readonly Issue[] }).issues ?? [];
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
