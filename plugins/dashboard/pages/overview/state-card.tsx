/** The card that says whether all is well. @module */
import type { JSX } from "preact";
import type { ChannelView, StatusView } from "../../shared/views.ts";
import { Button, LinkButton } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { FieldProblem } from "../parts/field.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { Menu } from "../parts/menu.tsx";
import { Ago, Since } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { canSwitch, useChannelSwitch } from "../frame/channel-switch.ts";
import { formatBytes, formatCount } from "../../shared/format.ts";

/** @returns One line about the whole launcher, worst news first. */
function headline({ state, channel, program, echo }: StatusView, problems: number): string {
  if (state === "rotating") return "The launcher token is being replaced";
  if (program && program.state !== "running") return "The application has stopped";
  if (channel && !channel.enabled) return "The channel is off";
  if (problems === 0) return echo ? "An echo answers" : "Everything is running";
  return problems === 1 ? "Running, with 1 problem" : `Running, with ${problems} problems`;
}

interface StateCardProps {
  readonly status: StatusView;
  /** Number of problems below the card. */
  readonly problems: number;
  /** Loads the status again. */
  readonly refresh: () => Promise<unknown>;
  /** True if the guide turns the channel on. */
  readonly isGuided: boolean;
}

export function StateCard({ status, problems, refresh, isGuided }: StateCardProps): JSX.Element {
  const { channel, startedAt, now } = status;
  const { isBusy, problem, act } = useChannelSwitch(channel!, refresh);
  return (
    <section class="card hero" aria-labelledby="state">
      <span class="arch">
        <Mark size={34} />
      </span>
      <div class="grow">
        <h2 id="state">{headline(status, problems)}</h2>
        <ChannelText channel={channel} />
        {status.echo && channel?.enabled && !isGuided && <EchoText />}
        <p class="facts-line">
          <span>
            <Icon name="clock" small />
            <span>
              Up for <Since at={startedAt} now={now} />
            </span>
          </span>
          {channel && (
            <span>
              <Icon name="power" small />
              {channel.enabled ? "Channel on" : "Channel off"}
            </span>
          )}
          {status.backup && (
            <span>
              <Icon name="archive" small />
              <BackupText backup={status.backup} now={now} />
            </span>
          )}
          {status.store && (
            <span>
              <Icon name="message-square" small />
              {storeLabel(status.store)}
            </span>
          )}
        </p>
        <FieldProblem text={problem} />
      </div>
      {channel && (channel.enabled || !isGuided) && (
        <Actions channel={channel} isBusy={isBusy} turn={act} />
      )}
    </section>
  );
}

function EchoText(): JSX.Element {
  const { url } = useSite();
  return (
    <p>
      Messages come back as they are. <a href={url("/docs/programs")}>Put a program behind it</a>
    </p>
  );
}

function ChannelText({ channel }: { channel: ChannelView | undefined }): JSX.Element {
  if (!channel) return <p>This service has no channel.</p>;
  if (channel.enabled) {
    return (
      <p>
        Clients connect to{" "}
        <code class="mono" dir="ltr">
          {channel.url}
        </code>
      </p>
    );
  }
  if (channel.enabledManagedBy !== undefined) {
    return (
      <p>
        The environment variable <code>{channel.enabledManagedBy}</code> turns it off. Change the
        variable to turn it on.
      </p>
    );
  }
  if (!canSwitch(channel)) {
    return (
      <p>
        To turn it on, set <code>channels.pico.enabled</code> to <code>true</code> in{" "}
        <code>config.json</code>.
      </p>
    );
  }
  return (
    <>
      <p>Turn it on so that clients can exchange messages with your application.</p>
      <noscript>
        <p>
          Without JavaScript, set <code>channels.pico.enabled</code> to <code>true</code> in{" "}
          <code>config.json</code>.
        </p>
      </noscript>
    </>
  );
}

interface ActionsProps {
  readonly channel: ChannelView;
  readonly isBusy: boolean;
  readonly turn: (on: boolean) => unknown;
}

function Actions({ channel, isBusy, turn }: ActionsProps): JSX.Element | null {
  const { url } = useSite();
  if (!channel.enabled) {
    if (!canSwitch(channel)) return null;
    return (
      <div class="row actions scripted">
        <Button
          kind="primary"
          icon="power"
          busy={isBusy && "Turning on…"}
          onClick={() => turn(true)}
        >
          Turn on channel
        </Button>
      </div>
    );
  }
  return (
    <div class="row actions">
      <span class="scripted">
        <CopyButton text={channel.url} label="Copy URL" />
      </span>
      <LinkButton kind="primary" icon="plug" href={url("/clients")}>
        Connect a client
      </LinkButton>
      {canSwitch(channel) && (
        <span class="scripted">
          <Menu
            label="More about the channel"
            items={[{ name: "Turn off…", icon: "power", danger: true, act: () => turn(false) }]}
          />
        </span>
      )}
    </div>
  );
}

function BackupText({
  backup: { last, failed },
  now,
}: {
  readonly backup: NonNullable<StatusView["backup"]>;
  readonly now: number;
}): JSX.Element {
  if (failed) return <span>The last backup failed</span>;
  if (!last) return <span>No backup yet</span>;
  return (
    <span>
      Backup <Ago at={last.at} now={now} />
    </span>
  );
}

type Store = NonNullable<StatusView["store"]>;

/** Describes the store of conversations in one line. */
function storeLabel(store: Store): string {
  const { kind, state, problem, conversations, bytes, nodes = [] } = store;
  if (problem !== undefined) return problem;
  if (state === "away") return "The store is not available";
  if (kind === "memory") return "In memory, not kept after a stop";
  if (kind === "redis") {
    const up = nodes.filter((node) => node.state === "up").length;
    return `In Redis, ${formatCount(up)} ${up === 1 ? "node" : "nodes"}`;
  }
  const noun = conversations === 1 ? "conversation" : "conversations";
  return `${formatCount(conversations)} ${noun} on disk, ${formatBytes(bytes ?? 0)}`;
}
