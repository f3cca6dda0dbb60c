import type { AnyPlugin, Awaitable, Scope, PluginShape } from "../../kernel/index.ts";
import { pluginErrors } from "./errors.ts";

/** What an error of foreign code says: one line of at most 300 characters. */
export function errorSummary(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s+/g, " ").slice(0, 300);
}

/** The plugin as the contract has it and nothing else of it; what its start throws says whose it is. */
export function wrapPlugin(plugin: AnyPlugin, redact: (text: string) => string): AnyPlugin {
  const { name, api, needs, uses, config } = plugin;
  const guard = async <T>(run: () => Awaitable<T>): Promise<T> => {
    try {
      return await run();
    } catch (error) {
      throw pluginErrors.PLUGIN_FAILED(name, redact(errorSummary(error)), { cause: error });
    }
  };
  return {
    name,
    api,
    needs,
    uses,
    config,
    start: (scope: Scope<PluginShape>) =>
      guard(() => {
        const onReady: Scope<PluginShape>["onReady"] = (step) => scope.onReady(() => guard(step));
        return plugin.start({ ...scope, onReady } as never);
      }),
  };
}
