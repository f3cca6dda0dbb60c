import type { Clock, Release } from "../../kernel/index.ts";
import type { RefusalView, SignInView } from "./status.ts";

const KEPT = 10;
const MINUTES = 10;

/** The newest sign-ins and refusals, and the channel's messages of the last ten minutes. */
export function createActivity(clock: Clock, after: (ms: number, run: () => void) => Release, messages: () => number) {
  const signIns: SignInView[] = [];
  const refusals: RefusalView[] = [];
  const perMinute: number[] = Array.from({ length: MINUTES }, () => 0);
  let total = 0;

  function nextMinute(): void {
    perMinute.push(messages() - total);
    perMinute.shift();
    total = messages();
    after(60_000 - (clock.now() % 60_000), nextMinute);
  }
  after(60_000 - (clock.now() % 60_000), nextMinute);

  const add = <T>(list: T[], item: T): void => {
    list.unshift(item);
    list.length = Math.min(list.length, KEPT);
  };
  return {
    signedIn: (view: SignInView) => add(signIns, view),
    refused: (view: RefusalView) => add(refusals, view),
    signIns: (): readonly SignInView[] => signIns,
    refusals: (): readonly RefusalView[] => refusals,
    perMinute: (): readonly number[] => [...perMinute.slice(1), messages() - total],
  };
}
export type Activity = ReturnType<typeof createActivity>;
