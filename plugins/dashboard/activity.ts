import type { Clock, Release } from "../../kernel/index.ts";
import type { RefusalView, SignInView } from "./status.ts";

const KEPT = 10;
const MINUTES = 10;

type Refused = Omit<RefusalView, "times">;

/** The newest sign-ins and refusals, and the channel's messages of the last ten minutes. */
export function createActivity(
  clock: Clock,
  after: (ms: number, run: () => void) => Release,
  messages: () => number,
) {
  const signIns: SignInView[] = [];
  const refusals: RefusalView[] = [];
  const clientRefusals: RefusalView[] = [];
  let trying = 0;
  const perMinute: number[] = Array.from({ length: MINUTES }, () => 0);
  let total = 0;

  const untilNext = (): number => 60_000 - (clock.now() % 60_000);
  function nextMinute(): void {
    // Timers ring a millisecond early now and then, which is the same minute still.
    if (untilNext() > 1_000) {
      perMinute.push(messages() - total);
      perMinute.shift();
      total = messages();
    }
    after(untilNext(), nextMinute);
  }
  after(untilNext(), nextMinute);

  const add = <T>(list: T[], item: T): void => {
    list.unshift(item);
    list.length = Math.min(list.length, KEPT);
  };
  /** A client that comes again every second must not push the others out. */
  function refuse(list: RefusalView[], { at, until, ...what }: Refused): void {
    const before = list.findIndex(
      (row) =>
        row.address === what.address &&
        row.code === what.code &&
        row.via === what.via &&
        row.origin === what.origin,
    );
    const [{ times } = { times: 0 }] = before < 0 ? [] : list.splice(before, 1);
    add(list, { at, times: times + 1, ...what, ...(until !== undefined && { until }) });
  }
  return {
    signedIn: (view: SignInView) => add(signIns, view),
    refused: (refusal: Refused) => refuse(refusals, refusal),
    clientRefused(refusal: Refused): void {
      if (trying === 0 || refusal.code !== "token_query_disabled") refuse(clientRefusals, refusal);
    },
    /** While the service tries its own channel, the way that is switched off is no client's fault. */
    async whileTrying<T>(run: () => Promise<T>): Promise<T> {
      trying += 1;
      return run().finally(() => void (trying -= 1));
    },
    signIns: (): readonly SignInView[] => signIns,
    refusals: (): readonly RefusalView[] => refusals,
    clientRefusals: (): readonly RefusalView[] => clientRefusals,
    perMinute: (): readonly number[] => [...perMinute.slice(1), messages() - total],
  };
}
export type Activity = ReturnType<typeof createActivity>;
