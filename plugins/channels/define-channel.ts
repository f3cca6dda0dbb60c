/** Creates a channel as a plugin, with the parts that all channels repeat. */
import type { Awaitable, EmptyMap, Plugin, Schema, Scope } from "../../kernel/index.ts";
import type { Tokens, TokenSecrets, TokenStoreEvents } from "../token-store/index.ts";
import type { ChannelAdapter, ChannelHandle, Channels } from "./contract.ts";
import { channelsErrors } from "./errors.ts";

/** The token of a channel. */
export interface ChannelToken {
  /** @returns False, or the version of the token that the candidate matches. */
  verify(candidate: string): Promise<number | false>;
  /** @returns The token, for example to send it as a password; undefined if there is none. */
  reveal(): string | undefined;
  /**
   * Calls `run` when the token was replaced or removed, and the grace period (`graceS`) has ended:
   * close the connections of its clients. The old token does not verify.
   */
  onReplaced(run: () => void): void;
}

type TokenNeeds<T> = T extends true
  ? { readonly tokens: Tokens; readonly tokenSecrets: TokenSecrets }
  : EmptyMap;

/** The shape of the plugin that `defineChannel` creates. */
export type ChannelShape<N extends string, C, T, O> = {
  needs: { channels: Channels } & TokenNeeds<T>;
  offers: O extends object ? { [K in N]: O } : EmptyMap;
} & ([C] extends [undefined] ? unknown : { config: C });

/** The scope of the plugin, with the parts that belong to the channel. */
export type ChannelScope<C, T> = Omit<Scope<EmptyMap>, "config" | "onConfig" | "needs"> &
  Pick<Scope<{ config: C }>, "config" | "onConfig"> & {
    /** Attaches the adapter, until the plugin stops. Call it once, in `start`. */
    attach(adapter: Omit<ChannelAdapter, "name">): ChannelHandle;
  } & (T extends true ? { readonly token: ChannelToken } : unknown);

type FullShape = {
  needs: { channels: Channels } & TokenNeeds<true>;
  listens: Pick<TokenStoreEvents, "token-store:rotated" | "token-store:removed">;
};

/** The parts of a channel. */
export interface ChannelDefinition<N extends string, C, T, O> {
  /**
   * Value of `channel` in addresses, and the name of the token. The settings are the section
   * `channels.NAME`. Lower-case words, joined by `_`.
   */
  readonly name: N;
  /** Validates the settings. Absent: the channel has none. */
  readonly schema?: Schema<C>;
  /** True if the channel has a token: `start` receives it as `token`. @defaultValue `false` */
  readonly token?: T;
  /**
   * Attaches the adapter, and prepares the rest. Listen in `onReady`, not here.
   *
   * @returns The service that the plugin offers under the name of the channel, if any.
   */
  start(scope: ChannelScope<C, T>): Awaitable<O>;
}

/**
 * Creates the plugin of a channel. It claims the token, attaches the adapter under the name of the
 * channel, and detaches it at a stop.
 *
 * @throws channel_invalid if the name is not lower-case words joined by `_`.
 * @example
 * import { defineChannel } from "doorward/plugins/channels";
 * const radio = defineChannel({
 *   name: "radio",
 *   start({ attach }) {
 *     const channel = attach({
 *       send: (session, _, { content }) => void process.stdout.write(`${session}: ${content}\n`),
 *     });
 *     const hear = (id: string, content: string) =>
 *       channel.deliver({ session: "air", id, content });
 *     return { hear };
 *   },
 * });
 */
export function defineChannel<
  const N extends string,
  C = undefined,
  const T extends boolean = false,
  O = void,
>(definition: ChannelDefinition<N, C, T, O>): Plugin<ChannelShape<N, C, T, O>> {
  const { name, schema, token = false, start } = definition;
  if (typeof name !== "string" || !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name))
    throw channelsErrors.channel_invalid('name must be lower-case words joined by "_"');
  const plugin = {
    name: name.replaceAll("_", "-"),
    api: 1,
    needs: { channels: true, ...(token && { tokens: true, tokenSecrets: true }) },
    ...(schema && { config: { section: `channels.${name}`, schema } }),
    async start(scope: Scope<FullShape>) {
      const { needs, after, on, onStop } = scope;
      if (token) await needs.tokens.claim(name);
      const own: ChannelToken = {
        verify: (candidate) => needs.tokens.verify(name, candidate),
        reveal: () => needs.tokenSecrets.reveal(name),
        onReplaced(run) {
          on("token-store:rotated", (event) => {
            if (event.name !== name) return;
            if (event.graceS > 0) after(event.graceS * 1_000, run);
            else run();
          });
          on("token-store:removed", (event) => {
            if (event.name === name) run();
          });
        },
      };
      const attach = (adapter: Omit<ChannelAdapter, "name">): ChannelHandle => {
        const channel = needs.channels.attach({ ...adapter, name });
        onStop(() => channel.close());
        return channel;
      };
      const service: unknown = await start({ ...scope, attach, token: own } as never);
      return service === undefined ? undefined : { [name]: service };
    },
  };
  return plugin as unknown as Plugin<ChannelShape<N, C, T, O>>;
}
