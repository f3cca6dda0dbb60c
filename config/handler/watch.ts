import type { Plugin } from "../../kernel/index.ts";
import { readJson, watchFiles } from "../../lib/files/index.ts";

/** Says in the log that a changed `handler` waits for a restart. */
export function watchHandler(file: string, started: unknown): Plugin {
  const form = (handler: unknown): string => JSON.stringify(handler ?? "echo");
  return {
    name: "handler",
    api: 1,
    start({ log, onStop }) {
      let told = form(started);
      const stop = watchFiles([file], async () => {
        const read = await readJson(file).catch(() => undefined);
        const now = read && form(read.value["handler"]);
        if (now === undefined || now === told) return;
        told = now;
        if (now === form(started)) log.info({ file }, '"handler" says again what runs');
        else log.warn({ file }, '"handler" was changed: it takes effect after a restart');
      });
      onStop(stop);
    },
  };
}
