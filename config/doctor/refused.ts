import type { CheckView } from "../../plugins/dashboard/index.ts";
import type { Survey } from "./survey.ts";
import { createCheck } from "./verdict.ts";

/** What was refused longer ago is most likely mended. */
const recentMs = 10 * 60_000;
const maxListed = 3;

const ageText = (ms: number): string =>
  ms < 60_000 ? `${Math.max(0, Math.round(ms / 1_000))} s` : `${Math.round(ms / 60_000)} min`;

/** Clients that could not get in lately, and why. Only the running launcher knows. */
export function rejectedConnectionChecks({ running, now }: Survey): CheckView[] {
  if (!running) return [];
  const own = createCheck("refused-clients", "Refused clients");
  const recent = running.refusals.filter(
    ({ at, blockedUntil = 0 }) => now - at < recentMs || blockedUntil > now,
  );
  if (recent.length === 0) return [own.ok("None in the last 10 minutes.")];
  const latest = recent.slice(0, maxListed);
  const named = latest.map(({ title, detail, at, blockedUntil = 0 }) => {
    const blocked =
      blockedUntil > now
        ? `, blocked for another ${Math.ceil((blockedUntil - now) / 1_000)} s`
        : "";
    return `${title} (${detail}), ${ageText(now - at)} ago${blocked}.`;
  });
  const more = recent.length > maxListed ? ` And ${recent.length - maxListed} more.` : "";
  const fixes = new Set(latest.flatMap(({ fix }) => fix ?? []));
  return [
    own.warning(
      named.join(" ") + more,
      fixes.size > 0 ? [...fixes].join(" ") : "nothing to do: it goes by",
    ),
  ];
}
