import type { Log } from "../../kernel/index.ts";
import type { Http } from "../http/index.ts";
import type { Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { Gate } from "./gate.ts";
import type { Knock } from "./knock.ts";
import { countRefusal } from "./metrics.ts";
import { factOf, type Refusal } from "./refusals.ts";

export interface RefusedOptions {
  readonly counters: Counters;
  readonly http: Pick<Http, "noteFault">;
  readonly log: Log;
  readonly gate: Pick<Gate, "offer">;
  readonly emit: (
    type: "pico-server:refused",
    fact: () => PicoServerEvents["pico-server:refused"],
  ) => void;
}

/**
 * Counts, announces and logs rejected requests. A wrong token that counts for the limiter always has
 * a line of its own; the others have one per address, code and minute.
 */
export function createRefused({ counters, http, log, gate, emit }: RefusedOptions) {
  return (knock: Knock, refusal: Refusal): void => {
    const { code, counted } = refusal;
    const { address } = knock.peer;
    countRefusal(counters, knock, refusal);
    const fields = { via: "pico" };
    if (counted === undefined)
      http.noteFault(log, { reason: code, address, text: "refused", fields });
    else log.warn({ reason: code, ip: address, ...fields, count: counted }, "refused");
    emit("pico-server:refused", () => factOf(knock, gate.offer(knock), refusal));
  };
}
