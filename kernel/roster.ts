// Checks a list of plugins before anything starts.
import { createConfiguration } from "./configuration.ts";
import { noop } from "./defaults.ts";
import { kernelErrors } from "./errors.ts";
import type { AnyPlugin } from "./wiring.ts";

/**
 * Throws the errors that a start would throw about names, versions and settings. Starts nothing.
 */
export function checkPlugins(
  plugins: readonly AnyPlugin[],
  config: Readonly<Record<string, unknown>> = {},
): void {
  validatePlugins(plugins);
  createConfiguration(plugins, config, noop);
}

const namePattern = /^(?!(kernel|host)$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
const pluginForm = "a plugin is { name, api: 1, start }";

/** For an entry that is not a plugin: what it is, and the fix. */
function describeMistake(entry: unknown): readonly [what: string, fix: string] | undefined {
  if (typeof entry === "function") {
    const name = entry.name || "it";
    return [`the function ${name}`, `call it: ${name}()`];
  }
  if (entry instanceof Promise) return ["a promise", "await it"];
  if (Array.isArray(entry)) return ["an array", "spread it: ...list"];
  if (typeof entry !== "object" || entry === null)
    return [String(entry), "remove it, or check where it is imported from"];
  const { name, start } = entry as Partial<AnyPlugin>;
  if (typeof name !== "string") return ["an object without a name", pluginForm];
  return typeof start === "function" ? undefined : [`"${name}" without start()`, pluginForm];
}

/** Throws KERNEL_NOT_A_PLUGIN, KERNEL_PLUGIN_NAME, KERNEL_PLUGIN_API or KERNEL_DUPLICATE_PLUGIN. */
export function validatePlugins(plugins: readonly AnyPlugin[]): void {
  const names = new Set<string>();
  for (const [index, plugin] of plugins.entries()) {
    const mistake = describeMistake(plugin);
    if (mistake) throw kernelErrors.KERNEL_NOT_A_PLUGIN(index + 1, ...mistake);
    const { name, api } = plugin;
    if (!namePattern.test(name)) throw kernelErrors.KERNEL_PLUGIN_NAME(name);
    if (api !== 1) throw kernelErrors.KERNEL_PLUGIN_API(name, api);
    if (names.has(name)) throw kernelErrors.KERNEL_DUPLICATE_PLUGIN(name);
    names.add(name);
  }
}
