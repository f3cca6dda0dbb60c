/** Clients page, tab Connect. @module */
import type { JSX } from "preact";
import { ClientsTabs } from "./tabs.tsx";
import { useState } from "preact/hooks";
import type { ChannelView, ChannelsView, SettingsChangedView } from "../../shared/views.ts";
import { useResource } from "../live/resource.ts";
import { canSwitch, useChannelSwitch } from "../frame/channel-switch.ts";
import { useAct } from "../live/act.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Copyable } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Badge, Empty, Notice } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import type { ProtocolView } from "../../shared/protocols.ts";
import { Samples } from "./samples.tsx";
import { snippets } from "../../shared/snippets.ts";
import { TestCard } from "./test-card.tsx";
import { FieldProblem, Switch } from "../parts/field.tsx";
import { tokenLabel } from "../../shared/token-labels.ts";
import { protocolSnippets } from "../../shared/protocol-snippets.ts";

export function ClientsPage({ data }: { readonly data: ConnectData }): JSX.Element {
  return (
    <div class="page-in">
      <ClientsTabs tab="connect" count={data.channel?.connections ?? 0} />
      <Connect data={data} />
    </div>
  );
}

/** Data of the tab. */
export interface ConnectData {
  /** Undefined if the service has no channel. */
  readonly channel?: ChannelView;
  /** Those whose plugins are loaded. */
  readonly protocols: readonly ProtocolView[];
}

function Connect({ data }: { readonly data: ConnectData }): JSX.Element {
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
          <Card
            id="code-title"
            title="Code samples"
            end={
              <a class="small" href={url("/docs/pico")}>
                Protocol reference
              </a>
            }
          >
            <div class="body stack">
              <div class="field">
                <span class="label">Channel URL</span>
                <Copyable text={channel.url} label="Copy channel URL" />
              </div>
              <Samples snippets={snippets(channel.url)} token="pico" tokenName="channel token" />
            </div>
          </Card>
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
  const { isBusy, problem, act } = useChannelSwitch(channel, refresh);
  return (
    <div class="notice warn">
      <Icon name="triangle-alert" />
      <div class="grow">
        <p>
          The channel is off and rejects all clients.
          {channel.enabledManagedBy && ` ${channel.enabledManagedBy} turns it off.`}
        </p>
        <FieldProblem text={problem} />
      </div>
      {canSwitch(channel) && (
        <Button busy={isBusy && "Turning on…"} onClick={() => act(true)}>
          Turn on
        </Button>
      )}
    </div>
  );
}

const changedMessage = "The settings changed in the meantime. Reload the page and try again.";

function ProtocolCard({ first }: { readonly first: ProtocolView }): JSX.Element {
  const { url } = useSite();
  const [view, setView] = useState(first);
  const { isBusy, problem, act } = useAct(async (enabled: boolean) => {
    setView({ ...view, enabled });
    const answer = await requestAsOwner<SettingsChangedView>(
      "PUT",
      `/api/channels/${view.name}`,
      { enabled },
      view.etag,
    );
    if ("error" in answer) {
      setView(view);
      return answer.error.status === 412 ? changedMessage : answer.error.message;
    }
    setView({ ...view, enabled, etag: answer.body.etag });
    return undefined;
  });
  const state = <State view={view} turn={act} isBusy={isBusy} />;
  return (
    <Card id={`${view.name}-title`} title={view.clients} end={state}>
      <div class="body stack">
        <p class="muted">
          {view.purpose} <a href={url("/docs/doors")}>Guide</a>
        </p>
        <div role="alert">{problem !== undefined && <Notice tone="bad">{problem}</Notice>}</div>
        {view.enabled && (
          <>
            <div class="field">
              <span class="label">Base URL</span>
              <Copyable text={view.url} label={`Copy base URL of ${view.title}`} />
            </div>
            {view.model !== undefined && (
              <p class="small">
                Model <code>{view.model}</code>
              </p>
            )}
            <Samples
              snippets={protocolSnippets(view)}
              token={view.name}
              tokenName={tokenLabel(view.name).replace(/^T/, "t")}
            />
          </>
        )}
      </div>
    </Card>
  );
}

interface StateProps {
  readonly view: ProtocolView;
  readonly turn: (enabled: boolean) => Promise<void>;
  readonly isBusy: boolean;
}

/** A switch, or the state if the page cannot change it. The next change needs the new etag. */
function State({ view, turn, isBusy }: StateProps): JSX.Element {
  const { enabled, enabledManagedBy, etag, title } = view;
  if (enabledManagedBy !== undefined || etag === undefined) {
    const by = enabledManagedBy === undefined ? "" : `, set by ${enabledManagedBy}`;
    return <Badge tone={enabled ? "ok" : "off"}>{`${enabled ? "On" : "Off"}${by}`}</Badge>;
  }
  return (
    <Switch
      aria-label={`Protocol ${title}`}
      checked={enabled}
      aria-disabled={isBusy || undefined}
      onClick={(event) => isBusy && event.preventDefault()}
      onChange={turn}
    />
  );
}
