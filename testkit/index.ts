/* The kit for tests of plugins and hosts: a kernel under a stopped clock, tokens in memory, a client of the channel
 * that waits for frames, a network that fails, and the rules that every channel keeps. It needs no test runner. */
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
export type { Peer, PeerEvent } from "./rig.ts";
export type { ChannelRule } from "./conformance.ts";

export const testTokens = {
  launcher: "launcher-correct-horse-battery-staple",
  pico: "pico-correct-horse-battery-staple",
} as const;

/** A token store in memory that holds `testTokens`, or others. */
export const memoryTokens = (
  tokens: Readonly<Record<string, string>> = testTokens,
): Plugin<TokenStoreShape> => tokenStore(memory(tokens));
