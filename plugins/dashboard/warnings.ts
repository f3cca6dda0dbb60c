import { tokensView } from "./api/tokens.ts";
import type { TokenRow } from "./api/views.ts";
import type { SettingsSection } from "../settings/index.ts";
import type { DashboardContext } from "./door.ts";
import type { WarningView } from "./status.ts";

const repairHint = "Mend the file; until then what stood there before stays in effect.";

/** What the overview warns of: the doctor finds it too, and more, since it knocks and looks around. */
export async function warningsOf(
  door: DashboardContext,
  sections: readonly SettingsSection[],
): Promise<WarningView[]> {
  const files = fileWarnings(sections);
  const tokens = await tokenWarnings(door).catch(({ message }: Error) =>
    // A file that holds both is named once.
    files.some(({ text }) => text.includes(message))
      ? []
      : [
          {
            id: "tokens-not-taken",
            text: `An edit of the tokens was not taken: ${message}`,
            fix: repairHint,
          },
        ],
  );
  return [...listenerWarnings(door), ...tokens, ...pluginWarnings(door), ...files];
}

function listenerWarnings({ http }: DashboardContext): WarningView[] {
  if (!http.isPublic() || !http.addresses().some(({ protocol }) => protocol === "http:")) return [];
  return [
    {
      id: "public-without-tls",
      text: "The dashboard is reachable from other machines without encryption: tokens can be read on the way.",
      fix: 'Set "tls" in launcher-config.json, or put a reverse proxy with https in front.',
    },
  ];
}

async function tokenWarnings(door: DashboardContext): Promise<WarningView[]> {
  const { tokens } = await tokensView(door);
  return tokens.flatMap((row) => {
    const { name, source, concern } = row;
    const inConfig = source === "config" && name !== "launcher" && name !== "metrics";
    return [
      ...(inConfig
        ? [
            {
              id: "token-in-config",
              text: `The ${name} token is in config.json, which suits development only.`,
              fix: "Move it to .security.yml, or to an environment variable in containers.",
            },
          ]
        : []),
      ...(concern
        ? [
            {
              id: "token-weak",
              text: `The ${name} token is weak: ${concern}.`,
              fix: longerTokenFix(row),
            },
          ]
        : []),
    ];
  });
}

function longerTokenFix({ name, managedByEnv, variable }: TokenRow): string {
  if (managedByEnv && variable !== undefined) return `Change ${variable}, and start again.`;
  if (name === "metrics") return "Replace it: doorward token rotate metrics";
  if (name === "launcher" || name === "pico") {
    return `Replace it on the page Tokens, or by: doorward token rotate ${name}`;
  }
  // Somebody else's: one made here would open nothing there.
  return `Ask for a better one where it belongs to, then: doorward token set ${name}`;
}

/** One for each thing that is wrong in the files, however many sections it concerns. */
export function fileWarnings(sections: readonly SettingsSection[]): WarningView[] {
  const problems = new Set(sections.flatMap(({ problem }) => problem ?? []));
  return [...problems].map((problem) => ({
    id: "settings-not-taken",
    text: `An edit of the settings was not taken: ${problem}`,
    fix: repairHint,
  }));
}

function pluginWarnings(door: DashboardContext): WarningView[] {
  return door.plugins().flatMap(({ from, state, reason }) =>
    state !== "failed"
      ? []
      : [
          {
            id: `plugin-failed-${from}`,
            text: reason ?? `The plugin "${from}" is not running.`,
            fix: "Mend it, or take it out of plugins in config.json; then start again.",
          },
        ],
  );
}
