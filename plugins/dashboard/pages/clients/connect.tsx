/** The tab that helps to connect a client. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ChannelView, ChannelsView } from "../../shared/views.ts";
import { useResource } from "../live/resource.ts";
import { requestAsOwner } from "../live/owner.ts";
import { toast } from "../frame/toasts.ts";
import { Button } from "../parts/button.tsx";
import { Copyable } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Empty } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import type { ProtocolView } from "../../shared/protocols.ts";
import { ProtocolCard } from "./protocol-card.tsx";
import { Samples } from "./samples.tsx";
import { snippets } from "../../shared/snippets.ts";
import { TestCard } from "./test-card.tsx";

/** Data of the tab. */
export interface ConnectData {
  /** Undefined if the service has no channel. */
  readonly channel?: ChannelView;
  /** Those whose plugins are loaded. */
  readonly protocols: readonly ProtocolView[];
}

export function Connect({ data }: { readonly data: ConnectData }): JSX.Element {
  const { url } = useSite();
  const channels = useResource<ChannelsView>(
    "/api/channels",
    { channels: data.channel ? [{ name: "pico", ...data.channel }] : [] },
    { refreshOn: ["settings"] },
  );
  const found = channels.value.value.channels.find(({ name }) => name === "pico");
  // The address of this page does not change while it is open.
  const channel = found ?? data.channel;
  if (!channel)
    return (
      <section class="card">
        <Empty icon="plug" title="This service has no channel">
          Add the plugin of the channel to connect clients.
        </Empty>
      </section>
    );
  return (
    <>
      {!channel.enabled && <ChannelOff channel={channel} refresh={channels.refresh} />}
      <div class="cols">
        <div class="stack">
          <section class="card" aria-labelledby="code-title">
            <header>
              <h2 id="code-title" class="grow">
                Code samples
              </h2>
              <a class="small" href={url("/docs/pico")}>
                Protocol reference
              </a>
            </header>
            <div class="body stack">
              <div class="field">
                <span class="label">Channel URL</span>
                <Copyable text={channel.url} label="Copy channel URL" />
              </div>
              <Samples snippets={snippets(channel.url)} token="pico" tokenName="channel token" />
            </div>
          </section>
          {data.protocols.map((protocol) => (
            <ProtocolCard key={protocol.name} first={protocol} />
          ))}
        </div>
        <TestCard />
      </div>
    </>
  );
}

interface ChannelOffProps {
  readonly channel: ChannelView;
  readonly refresh: () => Promise<unknown>;
}

function ChannelOff({ channel, refresh }: ChannelOffProps): JSX.Element {
  const { etag, enabledManagedBy } = channel;
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const turnOn = async (): Promise<void> => {
    setBusy(true);
    const answer = await requestAsOwner("PUT", "/api/channels/pico", { enabled: true }, etag);
    await refresh();
    setBusy(false);
    if ("error" in answer) return setProblem(answer.error.message);
    toast({ text: "The channel is on" });
  };
  return (
    <div class="notice warn">
      <Icon name="triangle-alert" />
      <div class="grow">
        <p>
          The channel is off and rejects all clients.
          {enabledManagedBy !== undefined && ` ${enabledManagedBy} turns it off.`}
        </p>
        <p class="problem" role="alert" hidden={problem === undefined}>
          {problem}
        </p>
      </div>
      {etag !== undefined && enabledManagedBy === undefined && (
        <Button busy={isBusy && "Turning on…"} onClick={turnOn}>
          Turn on
        </Button>
      )}
    </div>
  );
}
