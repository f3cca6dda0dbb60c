// Passes the state of this launcher to the doctor.
import type { DashboardContext } from "./context.ts";
import { otherChannels } from "./api/attached-channels.ts";
import { countChannelKeys } from "./api/keys.ts";
import { protocolStatus } from "./api/protocols.ts";
import { sectionsOf } from "./api/settings.ts";
import { tokensView } from "./api/tokens.ts";
import type { CheckView } from "../shared/views.ts";
import { testChannel } from "./api/channel-test.ts";
import type { Doctor, RequestObservations } from "./service.ts";
import { toRejectedConnection } from "../shared/rejections.ts";

/** Runs the doctor checks with the current state of this launcher. */
export async function runDoctor(
  context: DashboardContext,
  doctor: Doctor,
  observations: RequestObservations | undefined,
): Promise<readonly CheckView[]> {
  const { auth, http, observers, runtime, services } = context;
  return doctor({
    ...observations,
    state: runtime.state(),
    now: auth.clock.now(),
    addresses: http.addresses(),
    channel: services.picoServer?.status(),
    keys: countChannelKeys(context),
    protocols: protocolStatus(http, await sectionsOf(services).catch(() => [])),
    channels: otherChannels(services),
    store: services.conversations?.health(),
    plugins: services.pluginViews(),
    program: services.program?.status(),
    application: services.channels?.applicationStatus(),
    tokens: (await tokensView(auth)).tokens,
    refusals: observers.activity.clientRefusals().map(toRejectedConnection),
    proxyHeader: () => context.proxySignIn.probe(),
    handshakes: () => testChannel(context, services.tokenSecrets.reveal("pico")),
  });
}
