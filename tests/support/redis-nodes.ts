// Opens conversations in Redis the way the plugin does, without the other plugins.
import { randomBytes } from "node:crypto";
import { createCapturedLog } from "../../kernel/testing.ts";
import type { LogListeners } from "../../plugins/conversations/index.ts";
import { openRedis, type OpenRedisOptions } from "../../plugins/redis/open.ts";

export const redisSecret = "0123456789abcdef0123456789abcdef";

const clock = {
  now: (): number => Date.now(),
  monotonic: () => performance.now(),
  setTimeout: (run: () => void, ms: number) => setTimeout(run, ms),
  clearTimeout: (timer: unknown) => clearTimeout(timer as NodeJS.Timeout),
};

interface NodeOptions extends Partial<OpenRedisOptions> {
  /** Milliseconds by which the clock of the node is ahead. */
  readonly aheadMs?: number;
}

/** Opens one node, with its log of the channel `pico`. */
export async function openRedisNode(
  { aheadMs = 0, ...options }: NodeOptions,
  listeners: Partial<LogListeners> = {},
) {
  const captured = createCapturedLog();
  const settled: string[] = [];
  const events: string[] = [];
  const timers = new Set<NodeJS.Timeout>();
  const conversations = await openRedis(
    { secret: redisSecret, ...options },
    {
      clock: { ...clock, now: () => clock.now() + aheadMs },
      log: captured.log,
      random: (bytes) => randomBytes(bytes),
      after(ms, run) {
        const timer = setTimeout(() => {
          timers.delete(timer);
          run();
        }, ms);
        timers.add(timer);
        return () => {
          timers.delete(timer);
          clearTimeout(timer);
        };
      },
      limits: () => ({ keepDays: 90, maxBytes: 1e9 }),
      changed: () => undefined,
      forgotten: () => undefined,
    },
  );
  const log = conversations.open("pico", {
    onReceipt: (_, id, status, reason) => settled.push([id, status, reason].join(" ").trim()),
    sessionActive: (session) => events.push(`active ${session}`),
    sessionIdle: (session) => events.push(`idle ${session}`),
    renewed: (session) => events.push(`renewed ${session}`),
    ...listeners,
  });
  return {
    conversations,
    log,
    settled,
    events,
    captured,
    /** Resolves when this node has received everything that was published before. */
    async told() {
      await log.readAfter("s", undefined);
      const { peers } = conversations;
      await new Promise<void>((resolve, reject) => {
        peers.handle("echo", () => resolve());
        peers.send(peers.me, { t: "echo" }).catch(reject);
      });
    },
    async close() {
      await conversations.close();
      for (const timer of timers) clearTimeout(timer);
    },
  };
}

export type RedisNode = Awaited<ReturnType<typeof openRedisNode>>;
