/* A plugin from outside: a section of configuration, an event, a service, a route behind the dashboard's sign-in. */
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
  /** Rejected when the book is full: `guestbook_full`. */
  sign(guest: string): void;
  entries(): readonly Entry[];
}

export const guestbookErrors = errorTable({
  guestbook_full: (most: number) => `The guestbook is full: it holds ${most} entries.`,
});

/** Guests sign by `services.guestbook.sign(name)`; the dashboard's owner reads them at `/api/x/guestbook/entries`. */
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
    const checkFull = (most: number): void => {
      if (entries.length > most) throw guestbookErrors.guestbook_full(most);
    };
    // Entries are not thrown away: a smaller book than what is in it is refused, and the old size stays.
    onConfig(({ max_entries }) => checkFull(max_entries));

    needs.dashboardApi.route("guestbook", (request, answer) => {
      answer.setHeader("content-type", "application/json");
      answer.end(JSON.stringify({ path: request.url, entries }));
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
