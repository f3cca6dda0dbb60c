/**
 * Keeps recent sign-ins, failed sign-ins, rejected clients and message counts in memory.
 *
 * @module
 */
import type { Clock, Release } from "../../../kernel/index.ts";
import type { RejectionView, SignInView } from "./views.ts";

const maxEntries = 10;
const chartMinutes = 10;

type RejectionInput = Omit<RejectionView, "times">;

/**
 * Creates the activity log: the newest ten entries of each list, and the channel messages of the
 * last ten minutes.
 *
 * @param messages - Returns the number of messages since startup.
 */
export function createActivityLog(
  clock: Clock,
  after: (ms: number, run: () => void) => Release,
  messages: () => number,
) {
  const signIns: SignInView[] = [];
  const refusals: RejectionView[] = [];
  const clientRefusals: RejectionView[] = [];
  let channelTests = 0;
  const perMinute: number[] = Array.from({ length: chartMinutes }, () => 0);
  let total = 0;

  const untilNext = (): number => 60_000 - (clock.now() % 60_000);
  function nextMinute(): void {
    // A timer can fire a millisecond early, still in the previous minute.
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
  /**
   * Counts repetitions in one row, so a client that retries every second does not displace others.
   */
  function addRejection(list: RejectionView[], { at, until, ...rejection }: RejectionInput): void {
    const before = list.findIndex(
      (row) =>
        row.address === rejection.address &&
        row.code === rejection.code &&
        row.via === rejection.via &&
        row.origin === rejection.origin,
    );
    const [{ times } = { times: 0 }] = before < 0 ? [] : list.splice(before, 1);
    add(list, { at, times: times + 1, ...rejection, ...(until !== undefined && { until }) });
  }
  return {
    signedIn: (view: SignInView) => add(signIns, view),
    refused: (refusal: RejectionInput) => addRejection(refusals, refusal),
    clientRefused(refusal: RejectionInput): void {
      if (channelTests === 0 || refusal.code !== "token_query_disabled")
        addRejection(clientRefusals, refusal);
    },
    /**
     * Runs a channel test. Its handshakes by a disabled token method are not listed as rejections.
     */
    async duringTest<T>(run: () => Promise<T>): Promise<T> {
      channelTests += 1;
      return run().finally(() => void (channelTests -= 1));
    },
    signIns: (): readonly SignInView[] => signIns,
    refusals: (): readonly RejectionView[] => refusals,
    clientRefusals: (): readonly RejectionView[] => clientRefusals,
    perMinute: (): readonly number[] => [...perMinute.slice(1), messages() - total],
  };
}
export type ActivityLog = ReturnType<typeof createActivityLog>;
