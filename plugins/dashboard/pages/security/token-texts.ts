// Texts about each token.
import type { ProtocolToken } from "../../shared/protocols.ts";
import type { TokenRow } from "../../shared/views.ts";
import { tokenLabel } from "../../shared/token-labels.ts";

/** A token that the page can change. */
export type Changeable = "launcher" | "pico" | ProtocolToken;

const purposes: Readonly<Record<string, string>> = {
  launcher: "Signs you in to this dashboard. Anyone with it controls Doorward.",
  pico: "Anyone with this token can connect as a client.",
  pico_client: "Authenticates this service to another channel. Get it from the remote service.",
  metrics: "Allows a monitoring system to read /metrics only.",
};

/** Here too, because the module of the protocols has all of their texts. */
const protocols: readonly string[] = ["openai", "ai_sdk", "ag_ui"] satisfies ProtocolToken[];
const isProtocol = (name: string): name is ProtocolToken => protocols.includes(name);

/** Says what a token is for, in one or two sentences. */
export function tokenPurpose(name: string): string {
  if (Object.hasOwn(purposes, name)) return purposes[name]!;
  return isProtocol(name) ? purposes["pico"]! : `Token of the channel ${name}.`;
}

export function isChangeable(name: string): name is Changeable {
  return name === "launcher" || name === "pico" || isProtocol(name);
}

/** The command that changes a token which this page cannot change. */
export function tokenCommand({ name, managedByEnv }: TokenRow): string | undefined {
  return isChangeable(name) || managedByEnv ? undefined : `doorward token set ${name}`;
}

/** Where the token is stored: `.security.yml`, `Not set`. */
export function tokenPlace({ name, source, managedByEnv, variable }: TokenRow): string {
  if (managedByEnv) return `Set by the environment variable ${variable ?? ""}`.trim();
  return sourceLabel(name, source);
}

function sourceLabel(name: string, source: TokenRow["source"]): string {
  const file = name === "launcher" || name === "metrics" ? "launcher-config.json" : "config.json";
  const labels = {
    env: "environment variable",
    security: ".security.yml",
    config: file,
    random: `${file} (generated)`,
    host: "host application",
    none: "Not set",
  };
  return labels[source];
}

/** Says which other sources have a different value. */
export function shadowedSources({ name, others }: TokenRow): readonly string[] {
  return others
    .filter(({ same }) => !same)
    .map(({ source }) => {
      const label = sourceLabel(name, source);
      const capital = label.replace(/^[a-z](?=[a-z ]+$)/, (letter) => letter.toUpperCase());
      const problem = `${capital} contains a different value, which is not used.`;
      return `${problem} Remove it to avoid confusion.`;
    });
}

const ends = "The old token stops working immediately. ";

/** Says what happens when a token is replaced. */
export function replaceText(name: Changeable): string {
  if (name === "launcher")
    return "All other browsers are signed out, and existing sign-in links stop working.";
  return name === "pico"
    ? `${ends}Clients connected with it are disconnected and need the new token.`
    : `${ends}Replies in progress end, and clients need the new token.`;
}

/** Text of the dialog that shows a new token. Only the launcher token is never shown again. */
export function newTokenText(name: Changeable): string {
  const active = "The new token is active.";
  return name === "launcher"
    ? `${active} Save it in a password manager. It is not shown again.`
    : `${active} Clients need it to connect again.`;
}

/** Name of a token inside a sentence: `channel token`. */
export function tokenNoun(name: string): string {
  const label = tokenLabel(name);
  return isProtocol(name) ? label : label.charAt(0).toLowerCase() + label.slice(1);
}

/** The reason why a token is weak, as a sentence. */
export const concernText = (concern: string): string =>
  `${concern.charAt(0).toUpperCase()}${concern.slice(1).replace(/\.$/, "")}. Replace it.`;
