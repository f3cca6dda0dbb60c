// The kit for tests of plugins and hosts: a kernel with a stopped clock, tokens in memory, a
// channel client, a faulty network, and the rules for channels. It works with any test runner.
import type { Plugin } from "../kernel/index.ts";
import { memory, tokenStore, type TokenStoreShape } from "../plugins/token-store/index.ts";

export {
  createCapturedLog,
  createStoppedClock,
  withKernel,
  type LogEntry,
  type TestKernel,
  type StoppedClock,
} from "../kernel/testing.ts";
export {
  connectTestClient,
  createQueue,
  type ClientOptions,
  type ReceivedFrame,
  type TestClient,
  type Queue,
} from "./client.ts";
export { channelRules, runChannelConformance, type ChannelConformance } from "./conformance.ts";
export type { Fault } from "./fault-proxy.ts";
export {
  createFaultProxy,
  type FaultProxy,
  type FaultProxyOptions,
  type Faults,
} from "./fault-proxy.ts";
export type { ChannelCapabilities } from "./capabilities.ts";
export type { Peer, PeerEvent, Stranger } from "./rig.ts";
export type { ChannelRule } from "./conformance.ts";

/** The tokens of `memoryTokens`. */
export const testTokens = {
  launcher: "launcher-correct-horse-battery-staple",
  pico: "pico-correct-horse-battery-staple",
} as const;

/**
 * Creates a token store in memory.
 *
 * @param tokens - Tokens by name. @defaultValue `testTokens`
 * @example
 * import { channels } from "doorward/plugins/channels";
 * import { http } from "doorward/plugins/http";
 * import { picoServer } from "doorward/plugins/pico-server";
 * import { memoryTokens, withKernel } from "doorward/testing";
 * const plugins = [memoryTokens(), channels(), http({ port: 0 }), picoServer()] as const;
 * await withKernel(plugins, async ({ kernel, clock }) => {
 *   clock.increment(60_000);
 *   console.log(kernel.health().ready);
 * });
 */
export const memoryTokens = (
  tokens: Readonly<Record<string, string>> = testTokens,
): Plugin<TokenStoreShape> => tokenStore(memory(tokens));
