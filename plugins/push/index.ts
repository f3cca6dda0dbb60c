/**
 * Notifications on phones and computers while no page of the dashboard is in sight (Web Push).
 *
 * @module
 */
import { codeOf, type Plugin, type Scope } from "../../kernel/index.ts";
import type { Channels, ChannelsEvents } from "../channels/index.ts";
import type { Conversations } from "../conversations/index.ts";
import type { DashboardApi } from "../dashboard/index.ts";
import type { Http } from "../http/index.ts";
import type { OpenRecords, Records } from "../records/index.ts";
import type { Settings } from "../settings/index.ts";
import { pushSchema, type PushConfig, type PushInput } from "./config.ts";
import { DeviceDelivery } from "./delivery.ts";
import { Devices, type StoredDevice } from "./devices.ts";
import { createVapidKey, publicKeyOf, type VapidKey } from "./encryption.ts";
import type { Resolve } from "./endpoint.ts";
import { Notices, type SentNotice } from "./notices.ts";
import { Pushes } from "./pushes.ts";
import { answerRoute, pageRoutes } from "./routes.ts";
import { Seen } from "./seen.ts";
import { sendMessage } from "./sender.ts";

export { pushErrors } from "./errors.ts";
export type { PushConfig } from "./config.ts";

/** Options of {@link push}. */
export interface PushOptions {
  /** Certificates of own push services, as PEM. @defaultValue those that Node trusts */
  readonly ca?: string;
  /** Finds the addresses of a host name. @defaultValue the resolver of the system */
  readonly resolve?: Resolve;
}

/** The plugin's configuration and services. */
export type PushShape = {
  /** The validated section `push`. */
  config: PushConfig;
  /** The section as users write it: every field is optional. */
  section: { push: PushInput };
  /** Questions, and answers that have ended. */
  listens: Pick<
    ChannelsEvents,
    "channels:question-asked" | "channels:question-settled" | "channels:answer-ended"
  >;
  /** Pages that turn notifications on, the records of their devices, and the questions. */
  needs: { http: Http; channels: Channels; dashboardApi: DashboardApi; records: OpenRecords };
  /** The name of this home, and whether several nodes share the conversations. */
  uses: { settings: Settings; conversations: Conversations };
};

type PushScope = Scope<PushShape>;

/** For the people of a push service, if this server has no public address. */
const projectUrl = "https://github.com/doorward/doorward";

/**
 * Creates the plugin that sends notifications. List it after the dashboard.
 *
 * @param options - For push services of your own.
 * @example
 * import { createKernel } from "doorward";
 * import { channels } from "doorward/plugins/channels";
 * import { dashboard } from "doorward/plugins/dashboard";
 * import { http } from "doorward/plugins/http";
 * import { push } from "doorward/plugins/push";
 * import { records } from "doorward/plugins/records";
 * import { memory, tokenStore } from "doorward/plugins/token-store";
 * const kernel = createKernel([
 *   tokenStore(memory({ launcher: token })),
 *   records({ home: "/var/lib/bot" }),
 *   channels(),
 *   http({ port: 18800 }),
 *   dashboard(),
 *   push(),
 * ]);
 */
export function push({ ca, resolve }: PushOptions = {}): Plugin<PushShape> {
  return {
    name: "push",
    api: 1,
    needs: { http: true, channels: true, dashboardApi: true, records: true },
    uses: { settings: true, conversations: true },
    config: { section: "push", schema: pushSchema },
    start: (scope) => startPush(scope, { ca, resolve }),
  };
}

function startPush(
  scope: PushScope,
  { ca, resolve }: { readonly [K in keyof PushOptions]: PushOptions[K] | undefined },
): void {
  const { needs, uses, clock, random, after, log, config } = scope;
  const { http, channels, dashboardApi, records } = needs;
  const isShared = uses.conversations?.ownership !== undefined;
  // Without settings, the sign-ins of this node end with it, and so do its devices.
  const ownName = isShared ? `start-${Buffer.from(random(8)).toString("hex")}` : "only";
  const node = uses.settings?.instance() ?? ownName;
  const hosts = (): readonly string[] => config().hosts;
  const key = keyOnce(records<VapidKey>("keys"));
  const devices = new Devices({
    records: records<StoredDevice>("devices"),
    log,
    node,
    hosts,
    isSignedIn: dashboardApi.isSignedIn,
  });
  const sender = { clock, random, after, hosts, key, ca, resolve, subject: () => subjectOf(http) };
  const delivery = new DeviceDelivery({
    clock,
    after,
    log,
    send: (device, message, how) => sendMessage(sender, device, message, how),
    remove: (id) => devices.remove(id),
    isOn: async (id) => (await devices.get(id)) !== undefined,
  });
  const seen = new Seen({ now: clock.now, shared: isShared ? records("seen") : undefined });
  const notices = new Notices(records<SentNotice>("notices"));
  const common = { clock, log, devices, delivery, seen };
  const pushes = new Pushes({ ...common, after, random, config, channels, notices, node });
  listen(scope, pushes);
  const routes = { ...common, http, pushes, publicKey: async () => publicKeyOf(await key()) };
  dashboardApi.route("push", pageRoutes(routes));
  dashboardApi.command("push", (body) => runCommand(body, devices, delivery, pushes));
  dashboardApi.onSignOut(devices.signedOut);
  const answer = answerRoute({ ...routes, limiter: http.limiter() });
  http.request("/push/answer", answer, { methods: ["POST"] });
  scope.onReady(async () => {
    await devices.prune();
    // With a store, the questions of an earlier start are open again, or settled as lost.
    if (uses.conversations?.questions === undefined) await pushes.resume();
  });
}

/** Passes the events of questions and answers on. */
function listen({ on }: PushScope, pushes: Pushes): void {
  on("channels:question-asked", (event) => pushes.asked(event, event.id));
  on("channels:question-settled", (event) => {
    pushes.settled(event, event.id, { outcome: event.outcome, by: event.by });
  });
  on("channels:answer-ended", (event) => {
    if (event.sender === "owner" && event.outcome === "completed") pushes.answered(event, event.ms);
  });
}

/** Creates the key pair of this server once; several nodes share it. */
function keyOnce(records: Records<VapidKey>): () => Promise<VapidKey> {
  let known: VapidKey | undefined;
  return async () => {
    known ??= (await records.get("vapid"))?.value;
    if (known) return known;
    try {
      const created = createVapidKey();
      await records.put("vapid", created, { version: 0 });
      known = created;
    } catch (error) {
      if (codeOf(error) !== "record_conflict") throw error;
      known = (await records.get("vapid"))!.value;
    }
    return known;
  };
}

/** Push services want an address of the sender. Apple rejects one that is not https or mailto. */
function subjectOf(http: Http): string {
  const own = http.publicUrl("/");
  return own?.startsWith("https://") ? own : projectUrl;
}

/** `doorward push`, and `doorward push test`. */
async function runCommand(
  body: unknown,
  devices: Devices,
  delivery: DeviceDelivery,
  pushes: Pushes,
): Promise<object> {
  if ((body as { test?: unknown } | undefined)?.test !== true) {
    const list = await devices.list();
    return {
      devices: list.map(({ id, userAgent, createdAt }) => ({
        id,
        userAgent,
        createdAt,
        ...delivery.stateOf(id),
      })),
    };
  }
  const sent = await pushes.test();
  return {
    devices: sent.map(({ device: { id, userAgent }, outcome, problem }) => ({
      id,
      userAgent,
      outcome,
      ...(problem !== undefined && { problem }),
    })),
  };
}
