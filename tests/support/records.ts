// Kernels whose plugins keep records, in the three forms.
import { randomUUID } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { createKernel, type Plugin } from "../../kernel/index.ts";
import { createCapturedLog } from "../../kernel/testing.ts";
import { conversations } from "../../plugins/conversations/index.ts";
import { records, type OpenRecords, type Records } from "../../plugins/records/index.ts";
import { redis } from "../../plugins/redis/index.ts";
import { redisSecret } from "./redis-nodes.ts";
import type { RedisServer } from "./redis-server.ts";

type Store = ReturnType<typeof conversations>;

export const newHome = (): Promise<string> => mkdtemp(join(tmpdir(), "doorward-records-"));

/** Starts a kernel with one plugin `owner` that opens records. */
export async function startRecords(
  form: { readonly home?: string; readonly store?: Store } = {},
  owner = "owner",
) {
  const { home, store } = form;
  const captured = createCapturedLog();
  let opener: OpenRecords | undefined;
  const plugin: Plugin<{ needs: { records: OpenRecords } }> = {
    name: owner,
    api: 1,
    needs: { records: true },
    start: ({ needs }) => void (opener = needs.records),
  };
  const kept = records({ lockWaitMs: 0, ...(home !== undefined && { home }) });
  const list = store ? ([store, kept] as const) : ([kept] as const);
  const kernel = createKernel([...list, plugin] as unknown as readonly [typeof kept], {
    log: captured.log,
  });
  await kernel.start();
  onTestFinished(() => kernel.stop());
  const open = <T = unknown>(name: string): Records<T> => opener!<T>(name);
  return { kernel, open, lines: captured.lines, stop: () => kernel.stop() };
}

export type StartedRecords = Awaited<ReturnType<typeof startRecords>>;

/** Starts nodes that share one key space. */
export function sharedNodes(server: RedisServer, prefix: string = randomUUID()) {
  return (owner?: string): Promise<StartedRecords> => {
    const store = conversations({ store: redis({ url: server.url, prefix, secret: redisSecret }) });
    return startRecords({ store }, owner);
  };
}
