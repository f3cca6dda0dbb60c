// Doctor check that names the changes of this version for a home of an earlier one.
import type { CheckView } from "../../plugins/dashboard/index.ts";
import { findSqliteDriver } from "../../plugins/conversations/index.ts";
import { compareVersions } from "../home-version.ts";
import { createCheck, type Survey } from "./survey.ts";

/** A change that the owner of some homes notices. */
interface Change {
  /** The last release without the change. */
  readonly after: string;
  applies(survey: Survey): boolean;
  /** The change, and how to keep the former behaviour. */
  readonly text: string;
}

const changes: readonly Change[] = [
  {
    after: "0.1.0",
    applies: ({ store }) => store.kind === undefined && findSqliteDriver() !== undefined,
    text:
      "Conversations are kept in state/conversations.db for 90 days. To keep them in memory, as " +
      'before, set "store.kind" to "memory".',
  },
  {
    after: "0.1.0",
    applies: ({ launcher }) => launcher["public"] === true || launcher["host"] !== undefined,
    text:
      "At most 256 connections of one address may be unauthenticated. For many clients behind " +
      "one address, raise max_unauthenticated_per_address in launcher-config.json.",
  },
  {
    after: "0.1.0",
    applies: ({ launcher }) => launcher["tls"] !== undefined,
    text: "TLS 1.2 accepts only ECDHE suites with authenticated encryption.",
  },
  {
    after: "0.1.0",
    applies: ({ pluginEntries }) => Array.isArray(pluginEntries) && pluginEntries.length > 0,
    text:
      "Plugins must import doorward/plugins/program instead of doorward/plugins/command, and " +
      "many types have new names: see the changelog.",
  },
];

/** After the first start of a version, its changes are listed for this time. */
const listedMs = 30 * 86_400_000;

/** Names what the present version changes for the home. */
export function versionCheck(found: Survey): CheckView | undefined {
  const { version, lastUse, now } = found;
  if (version === undefined || lastUse === undefined) return undefined;
  const own = createCheck("home-version", "The home fits this version");
  const isUpdated = lastUse.version === version && lastUse.since > 0;
  const former = isUpdated ? lastUse.previous : lastUse.version;
  if (former === undefined || (isUpdated && now - lastUse.since > listedMs))
    return own.ok(`${version} uses it already.`);
  if (compareVersions(former, version) > 0)
    return own.warning(
      `This home was last used by ${former}, which is newer than ${version}. Files of a newer ` +
        "version may be rejected.",
      "update Doorward, or restore the backup of the home",
    );
  const texts = changes
    .filter(({ after, applies }) => compareVersions(former, after) <= 0 && applies(found))
    .map(({ text }) => text);
  const used = isUpdated
    ? `This home was used by ${former} until ${new Date(lastUse.since).toISOString().slice(0, 10)}`
    : `This home was last used by ${former}`;
  if (texts.length === 0) return own.ok(`${used}; nothing changes for it.`);
  const reason = `${used}. ${texts.join(" ")}`;
  return isUpdated ? own.ok(reason) : own.warning(reason, "back up the home, then: doorward");
}
