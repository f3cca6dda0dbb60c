// A third-party plugin with a configuration section, an event, a service, and a dashboard route
// that requires a sign-in.
import { z } from "zod";
import { errorTable, type Plugin } from "doorward";
import type { DashboardApi } from "doorward/plugins/dashboard";

const schema = z.strictObject({
  max_entries: z.int().min(1).max(10_000).default(100).meta({ editable: true }),
});

export type GuestbookEvents = {
  "guestbook:signed": { guest: string; entries: number };
};
export interface Entry {
  readonly guest: string;
  /** Unix milliseconds. */
  readonly at: number;
}
export interface Guestbook {
  /** Throws `guestbook_full` if the book is full. */
  sign(guest: string): void;
  entries(): readonly Entry[];
}

export const guestbookErrors = errorTable({
  guestbook_full: (limit: number) => `The guestbook is full: it has ${limit} entries.`,
});

/**
 * Guests sign with `services.guestbook.sign(name)`. The owner reads the entries at
 * `/api/x/guestbook/entries`.
 */
export const guestbook = (): Plugin<{
  config: z.output<typeof schema>;
  emits: GuestbookEvents;
  needs: { dashboardApi: DashboardApi };
  offers: { guestbook: Guestbook };
}> => ({
  name: "guestbook",
  api: 1,
  needs: { dashboardApi: true },
  config: { section: "guestbook", schema },

  start({ needs, config, onConfig, clock, emit }) {
    const entries: Entry[] = [];
    const checkFull = (limit: number): void => {
      if (entries.length > limit) throw guestbookErrors.guestbook_full(limit);
    };
    // Rejects a limit below the number of entries, so that none is lost; the old limit stays.
    onConfig(({ max_entries }) => checkFull(max_entries));

    needs.dashboardApi.route("guestbook", (request, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ path: request.url, entries }));
    });

    const service: Guestbook = {
      entries: () => entries,
      sign(guest) {
        checkFull(config().max_entries - 1);
        entries.push({ guest, at: clock.now() });
        emit("guestbook:signed", { guest, entries: entries.length });
      },
    };
    return { guestbook: service };
  },
});
