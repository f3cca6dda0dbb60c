import { createKernel, type Log, type Plugin } from "../../kernel/index.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { picoClient, type PicoLink } from "../../plugins/pico-client/index.ts";
import type { LinkHandlers } from "../../lib/pico-link/index.ts";
import { files, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { load, type Environment } from "../load/index.ts";
import { presetErrors } from "./errors.ts";
import { withGivenToken, withTokenAlias, withTokenFile } from "./token-file.ts";

export interface ClientOnlyOptions {
  readonly home: string;
  /** A copy of the environment. */
  readonly env: Environment;
  readonly log: Log;
  /** Gets the whole answers of the other end. */
  readonly application: Application;
  /** Gets everything as it comes: texts that grow, typing, changes of the link. */
  readonly hear?: LinkHandlers;
  /** Address of the channel; stands above files and environment. */
  readonly url?: string;
  /** The channel to talk to when nothing names one. */
  readonly unnamed?: () => Promise<{ readonly url: string; readonly token: string } | undefined>;
  /** File with the channel's token and nothing else; stands above all other places. */
  readonly tokenFile?: string;
  /** The conversation; unset: the one kept in the home. */
  readonly sessionId?: string;
  /** Keeps conversations with one address apart. */
  readonly profile?: string;
  /** Silence after which a reply counts as complete, if the server does not mark the end. */
  readonly silenceMs?: number;
  /** Told every token that is read, so that logs can keep it out. */
  readonly secret?: (value: string) => void;
}

const clientSection = "channels.pico_client";
const clientTokenName = "pico_client";

const createListenerPlugin = (hear: LinkHandlers): Plugin<{ needs: { picoLink: PicoLink } }> => ({
  name: "listener",
  api: 1,
  needs: { picoLink: true },
  start: ({ needs, onStop }) => onStop(needs.picoLink.listen(hear)),
});

/** The token of the channel in this home follows its files, as the channel does; another one stays as it is. */
async function withOwnToken(form: TokenBackend, token: string): Promise<TokenBackend> {
  const filed = await Promise.resolve(form.resolve("pico")).catch(() => undefined);
  return filed?.value === token
    ? withTokenAlias(form, clientTokenName, "pico")
    : withGivenToken(form, clientTokenName, token);
}

/** A deployment without dashboard, listener and server: one link to the channel of another service. It is on unless
 *  something says `enabled: false`. Rejects `CLIENT_SWITCHED_OFF`, `CLIENT_NO_ADDRESS`, and what reading the files
 *  rejects. */
export async function createClientOnly(options: ClientOnlyOptions) {
  const { home, env, log, url, sessionId, profile, silenceMs, secret, hear = {} } = options;
  const client = picoClient({
    home,
    env,
    ...(profile && { profile }),
    ...(sessionId && { sessionId }),
    ...(silenceMs && { silenceMs }),
  });
  const flags = url === undefined ? {} : { [clientSection]: { url } };
  const { config, warnings, foreign } = await load([client], { home, env, flags });
  // The launcher and the doctor explain settings of other products; one message is not the place
  // for it.
  for (const warning of warnings) (foreign.includes(warning) ? log.info : log.warn)({}, warning);
  const named: { enabled?: unknown; url?: unknown } = { enabled: true, ...config[clientSection] };
  if (!named.enabled) throw presetErrors.CLIENT_SWITCHED_OFF("SERVICE");
  const found = named.url ? undefined : await options.unnamed?.();
  if (!named.url && !found) throw presetErrors.CLIENT_NO_ADDRESS("SERVICE", home);
  const own = { ...named, ...(found && { url: found.url }) };
  const form = files({ home, env, ...(secret && { secret }) });
  const path = options.tokenFile;
  const tokens = path
    ? withTokenFile(form, { name: clientTokenName, path, ...(secret && { secret }) })
    : found
      ? await withOwnToken(form, found.token)
      : form;
  if (found) secret?.(found.token);
  return createKernel(
    [
      tokenStore(tokens),
      channels(),
      client,
      createListenerPlugin(hear),
      application(options.application),
    ],
    { config: { [clientSection]: own } as Readonly<Record<string, unknown>>, log },
  );
}
