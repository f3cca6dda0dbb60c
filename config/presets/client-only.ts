// A kernel with one pico client and no dashboard, listener or server.
import { createKernel, type Log, type Plugin } from "../../kernel/index.ts";
import { application, channels, type Application } from "../../plugins/channels/index.ts";
import { picoClient, type PicoLink } from "../../plugins/pico-client/index.ts";
import type { ChatHandlers } from "../../lib/pico-link/index.ts";
import { defined } from "../../lib/util.ts";
import { files, tokenStore, type TokenBackend } from "../../plugins/token-store/index.ts";
import { load, type Environment } from "../load/index.ts";
import { presetErrors } from "./errors.ts";
import { filedUrl } from "./filed-url.ts";
import { withGivenToken, withTokenAlias, withTokenFile } from "./token-file.ts";

interface ClientOnlyOptions {
  readonly home: string;
  /** A copy of the environment. */
  readonly env: Environment;
  readonly log: Log;
  /** Receives complete replies of the server. */
  readonly application: Application;
  /** Receives updates, typing and changes of the link as they arrive. */
  readonly handlers?: ChatHandlers;
  /** Address of the channel; overrides files and environment. */
  readonly url?: string;
  /** Finds a channel if no address is configured. */
  readonly findChannel?: () => Promise<
    { readonly url: string; readonly token: string } | undefined
  >;
  /** File that contains only the channel token; overrides all other places. */
  readonly tokenFile?: string;
  /** The conversation. @defaultValue the one stored in the home */
  readonly sessionId?: string;
  /** Separates several conversations with the same address. */
  readonly profile?: string;
  /** Silence after which a reply counts as complete, if the server does not mark the end. */
  readonly silenceMs?: number;
  /** Called with every token that is read, so that logs can redact it. */
  readonly secret?: (value: string) => void;
}

const clientSection = "channels.pico_client";
const clientTokenName = "pico_client";

const createListenerPlugin = (
  handlers: ChatHandlers,
): Plugin<{ needs: { picoLink: PicoLink } }> => ({
  name: "listener",
  api: 1,
  needs: { picoLink: true },
  start: ({ needs, onStop }) => onStop(needs.picoLink.listen(handlers)),
});

/** Follows changes of the pico token in the files if `token` is that one; else `token` is fixed. */
async function withOwnToken(form: TokenBackend, token: string): Promise<TokenBackend> {
  const filed = await Promise.resolve(form.resolve("pico")).catch(() => undefined);
  return filed?.value === token
    ? withTokenAlias(form, clientTokenName, "pico")
    : withGivenToken(form, clientTokenName, token);
}

/**
 * Creates a kernel with one link to the channel of another service, enabled by default.
 *
 * @throws CLIENT_SWITCHED_OFF if the configuration contains `enabled: false`.
 * @throws CLIENT_NO_ADDRESS if no channel is configured or found.
 */
export async function createClientOnly(options: ClientOnlyOptions) {
  const { home, env, log, url, sessionId, profile, silenceMs, secret, handlers = {} } = options;
  const createClient = (proxyVariables: Environment): ReturnType<typeof picoClient> =>
    picoClient({
      home,
      env: proxyVariables,
      filedUrl: () => filedUrl({ home, env }),
      ...defined({ profile, sessionId, silenceMs }),
    });
  const flags = url === undefined ? {} : { [clientSection]: { url } };
  const { config, warnings, foreign } = await load([createClient(env)], { home, env, flags });
  // Settings of other products are warnings only in the launcher and the doctor.
  for (const warning of warnings) (foreign.includes(warning) ? log.info : log.warn)({}, warning);
  const settings: { enabled?: unknown; url?: unknown } = {
    enabled: true,
    ...config[clientSection],
  };
  if (!settings.enabled) throw presetErrors.CLIENT_SWITCHED_OFF("SERVICE");
  const found = settings.url ? undefined : await options.findChannel?.();
  if (!settings.url && !found) throw presetErrors.CLIENT_NO_ADDRESS("SERVICE", home);
  const section = { ...settings, ...(found && { url: found.url }) };
  const form = files(defined({ home, env, secret }));
  const path = options.tokenFile;
  const tokens = path
    ? withTokenFile(form, defined({ name: clientTokenName, path, secret }))
    : found
      ? await withOwnToken(form, found.token)
      : form;
  if (found) secret?.(found.token);
  return createKernel(
    [
      tokenStore(tokens),
      channels(),
      createClient(found ? {} : env), // no proxy may receive the token of the own launcher
      createListenerPlugin(handlers),
      application(options.application),
    ],
    { config: { [clientSection]: section } as Readonly<Record<string, unknown>>, log },
  );
}
