import type { Log } from "../../kernel/index.ts";
import type { Http } from "../http/index.ts";
import type { Counters } from "./counters.ts";
import type { PicoServerEvents } from "./events.ts";
import type { AdmissionControl } from "./gate.ts";
import type { HandshakeRequest } from "./knock.ts";
import { countRejection } from "./metrics.ts";
import { toRejectedEvent, type Rejection } from "./refusals.ts";

export interface RejectionReporterOptions {
  readonly counters: Counters;
  readonly http: Pick<Http, "noteFault">;
  readonly log: Log;
  readonly gate: Pick<AdmissionControl, "offer">;
  readonly emit: (
    type: "pico-server:refused",
    fact: () => PicoServerEvents["pico-server:refused"],
  ) => void;
}

/**
 * Counts, announces and logs rejected requests. A wrong token that counts for the limiter always has
 * a line of its own; the others have one per address, code and minute.
 */
export function createRejectionReporter({
  counters,
  http,
  log,
  gate,
  emit,
}: RejectionReporterOptions) {
  return (knock: HandshakeRequest, refusal: Rejection): void => {
    const { code, counted } = refusal;
    const { address } = knock.peer;
    countRejection(counters, knock, refusal);
    const fields = { via: "pico" };
    if (counted === undefined)
      http.noteFault(log, { reason: code, address, text: "refused", fields });
    else log.warn({ reason: code, ip: address, ...fields, count: counted }, "refused");
    emit("pico-server:refused", () => toRejectedEvent(knock, gate.offer(knock), refusal));
  };
}
