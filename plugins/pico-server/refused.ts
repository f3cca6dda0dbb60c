import type { Clock, Log, Release } from "../../kernel/index.ts";
import type { Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { Knock } from "./knock.ts";
import { countRefusal } from "./metrics.ts";
import { createBucket } from "./rates.ts";
import { factOf, type Refusal } from "./refusals.ts";

/** Log lines of refusals that count for no limiter: anybody can make as many as the network carries. */
const lines = { perSecond: 1, burst: 20 };
const reportMs = 10_000;

export interface RefusedOptions {
  readonly counters: Counters;
  readonly clock: Clock;
  readonly log: Log;
  readonly after: (ms: number, run: () => void) => Release;
  readonly gate: Pick<Gate, "offer">;
  readonly emit: (
    type: "pico-server:refused",
    fact: () => PicoServerEvents["pico-server:refused"],
  ) => void;
}

/** Whoever is turned away is counted, announced and logged. A wrong token that counts has a line always; of the others
 *  some have one, and a line every ten seconds says how many had none. */
export function createRefused({ counters, clock, log, after, gate, emit }: RefusedOptions) {
  const mayLog = createBucket(() => lines, clock.now());
  let skipped = new Map<string, number>();

  function report(): void {
    const counts = Object.fromEntries(skipped);
    skipped = new Map();
    log.warn({ via: "pico", ...counts }, "refused, without a line of their own");
  }
  function skip(code: string): void {
    if (skipped.size === 0) after(reportMs, report);
    skipped.set(code, (skipped.get(code) ?? 0) + 1);
  }

  return (knock: Knock, refusal: Refusal): void => {
    const { code, counted } = refusal;
    const { address } = knock.peer;
    countRefusal(counters, knock, refusal);
    const count = counted === undefined ? {} : { count: counted };
    if (counted === undefined && !mayLog(clock.now())) skip(code);
    else log.warn({ reason: code, ip: address, via: "pico", ...count }, "refused");
    emit("pico-server:refused", () => factOf(knock, gate.offer(knock), refusal));
  };
}
