import type { Clock, Release } from "../../../kernel/index.ts";
import type { RejectionView, SignInView } from "./views.ts";

const maxEntries = 10;
const chartMinutes = 10;

type RejectionInput = Omit<RejectionView, "times">;

/** The newest sign-ins and refusals, and the channel's messages of the last ten minutes. */
export function createActivityLog(
  clock: Clock,
  after: (ms: number, run: () => void) => Release,
  messages: () => number,
) {
  const signIns: SignInView[] = [];
  const refusals: RejectionView[] = [];
  const clientRefusals: RejectionView[] = [];
  let trying = 0;
  const perMinute: number[] = Array.from({ length: chartMinutes }, () => 0);
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
    list.length = Math.min(list.length, maxEntries);
  };
  /** A client that comes again every second must not push the others out. */
  function refuse(list: RejectionView[], { at, until, ...what }: RejectionInput): void {
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
    refused: (refusal: RejectionInput) => refuse(refusals, refusal),
    clientRefused(refusal: RejectionInput): void {
      if (trying === 0 || refusal.code !== "token_query_disabled") refuse(clientRefusals, refusal);
    },
    /** While the service tries its own channel, the way that is switched off is no client's fault. */
    async whileTrying<T>(run: () => Promise<T>): Promise<T> {
      trying += 1;
      return run().finally(() => void (trying -= 1));
    },
    signIns: (): readonly SignInView[] => signIns,
    refusals: (): readonly RejectionView[] => refusals,
    clientRefusals: (): readonly RejectionView[] => clientRefusals,
    perMinute: (): readonly number[] => [...perMinute.slice(1), messages() - total],
  };
}
export type ActivityLog = ReturnType<typeof createActivityLog>;
