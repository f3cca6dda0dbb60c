// Joins failed sign-ins and rejected connections into one list.
import type { RejectionView, StatusView } from "../../shared/views.ts";
import { failedSignInLabel, signInMethodLabel } from "../../shared/sign-in-labels.ts";
import { rejectionTitle, uniqueFixes } from "../../shared/rejections.ts";

/** Repeated failures of one address. */
export interface Attempt {
  readonly key: string;
  readonly address: string;
  /** Kind of the peer and reason: `Client, wrong token`. */
  readonly kind: string;
  /** How the token was sent, and from which page. */
  readonly detail: string;
  readonly times: number;
  /** Unix milliseconds of the latest one. */
  readonly at: number;
  /** Unix milliseconds until which the address is blocked. */
  readonly until?: number;
  /** The fix, unless an earlier attempt shows the same one. */
  readonly fix?: string | undefined;
}

const methods: Readonly<Record<string, string>> = {
  header: "Authorization header",
  subprotocol: "Subprotocol",
  query: "Token in URL",
};

/** Returns the failed attempts, newest first. */
export function attemptsOf({
  refusals,
  channel,
}: Pick<StatusView, "refusals" | "channel">): readonly Attempt[] {
  const signIns = refusals.map((refusal) =>
    attempt("Sign-in", failedSignInLabel(refusal.code), refusal, signInMethodLabel(refusal.via)),
  );
  const rejected = channel?.refusals ?? [];
  const fixes = uniqueFixes(rejected);
  const clients = rejected.map((refusal, index) => ({
    ...attempt("Client", rejectionTitle(refusal), refusal, methods[refusal.via]),
    fix: fixes[index],
  }));
  return [...signIns, ...clients].sort((a, b) => b.at - a.at);
}

function attempt(
  who: string,
  reason: string,
  { address, times, at, until, origin, code, via }: RejectionView,
  method: string | undefined,
): Attempt {
  return {
    key: `${who} ${address} ${code} ${via} ${origin}`,
    address,
    kind: `${who}, ${reason.charAt(0).toLowerCase()}${reason.slice(1)}`,
    detail: [method, origin].filter((part) => part !== undefined).join(" · "),
    times,
    at,
    ...(until !== undefined && { until }),
  };
}
