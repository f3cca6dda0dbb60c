/**
 * Keeps recent sign-ins, failed sign-ins and rejected clients in memory.
 *
 * @module
 */
import type { RejectionView, SignInView } from "../../shared/views.ts";

const maxEntries = 10;

type RejectionInput = Omit<RejectionView, "times">;

/** Creates the activity log: the newest ten entries of each list. */
export function createActivityLog() {
  const signIns: SignInView[] = [];
  const refusals: RejectionView[] = [];
  const clientRefusals: RejectionView[] = [];
  let channelTests = 0;
  let testRejections = 0;
  let hasClient = false;

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
      if (channelTests > 0 && refusal.code === "token_query_disabled") testRejections += 1;
      else addRejection(clientRefusals, refusal);
    },
    /** Notes a client that is neither the dashboard nor a test. */
    connected(method: string): void {
      if (method !== "dashboard" && channelTests === 0) hasClient = true;
    },
    /** True if such a client has connected since the start. */
    hasClient: (): boolean => hasClient,
    /** Removes the rejected clients with a code whose cause no longer exists. */
    resolved(code: string): void {
      const open = clientRefusals.filter((row) => row.code !== code);
      clientRefusals.splice(0, clientRefusals.length, ...open);
    },
    /** Ends the blocks of an address in both lists; of all addresses without one. */
    unblocked(address: string | undefined): void {
      for (const list of [refusals, clientRefusals])
        for (const [index, row] of list.entries()) {
          if (address !== undefined && row.address !== address) continue;
          const { until: _, ...rest } = row;
          list[index] = rest;
        }
    },
    /** Runs a channel test. Its handshake by a disabled token method is not a rejected client. */
    async duringTest<T>(run: () => Promise<T>): Promise<T> {
      channelTests += 1;
      return run().finally(() => void (channelTests -= 1));
    },
    /** Handshakes that channel tests expected to be rejected. */
    testRejections: (): number => testRejections,
    signIns: (): readonly SignInView[] => signIns,
    refusals: (): readonly RejectionView[] => refusals,
    clientRefusals: (): readonly RejectionView[] => clientRefusals,
  };
}
export type ActivityLog = ReturnType<typeof createActivityLog>;
