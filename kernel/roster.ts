import { createConfiguration } from "./configuration.ts";
import { kernelErrors } from "./errors.ts";
import type { AnyPlugin } from "./wiring.ts";

/** Throws what a start would about names, versions and settings; starts nothing. */
export function checkPlugins(
  plugins: readonly AnyPlugin[],
  config: Readonly<Record<string, unknown>> = {},
): void {
  checkRoster(plugins);
  createConfiguration(plugins, config, () => undefined);
}

export function checkRoster(roster: readonly AnyPlugin[]): void {
  const names = new Set<string>();
  for (const { name, api } of roster) {
    if (!/^(?!(kernel|host)$)[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
      throw kernelErrors.KERNEL_PLUGIN_NAME(name);
    if (api !== 1) throw kernelErrors.KERNEL_PLUGIN_API(name, api);
    if (names.has(name)) throw kernelErrors.KERNEL_DUPLICATE_PLUGIN(name);
    names.add(name);
  }
}
