// A complete plugin: raises an alarm after too many failed sign-ins from one address.
import { z } from "zod";
import type { Plugin } from "doorward";
import type { DashboardEvents } from "doorward/plugins/dashboard";

const schema = z.strictObject({ refusals: z.int().min(1).max(10_000).default(100) });

export const audit = (): Plugin<{
  config: z.output<typeof schema>;
  listens: Pick<DashboardEvents, "dashboard:sign-in-refused">;
  emits: { "audit:alarm-raised": { address: string; refusals: number } };
}> => ({
  name: "audit",
  api: 1,
  config: { section: "audit", schema },
  start({ config, on, emit, log }) {
    const counts = new Map<string, number>();
    on("dashboard:sign-in-refused", ({ address }) => {
      const refusals = (counts.get(address) ?? 0) + 1;
      counts.set(address, refusals);
      if (refusals !== config().refusals) return;
      log.warn({ address, refusals }, "many failed sign-ins");
      emit("audit:alarm-raised", { address, refusals });
    });
  },
});
