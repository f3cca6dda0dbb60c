import { pluginErrors } from "./errors.ts";

/** A module may wait for something that never comes. The time is real: what it waits for is. */
export async function withLoadTimeout<T>(from: string, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(pluginErrors.PLUGIN_BROKEN(from, "it took longer than 10 s.")),
      10_000,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
