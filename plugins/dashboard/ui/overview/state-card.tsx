/** The card that says whether all is well. @module */
import type { JSX } from "preact";
import type { ChannelView, StatusView } from "../../api/views.ts";
import { LinkButton } from "../parts/button.tsx";
import { CopyButton } from "../parts/copy.tsx";
import { Icon, Mark } from "../parts/icon.tsx";
import { Since } from "../parts/time.tsx";
import { useSite } from "../site.tsx";

/** @returns One line about the whole launcher, worst news first. */
function headline({ state, channel, program }: StatusView): string {
  if (state === "rotating") return "The launcher token is being replaced";
  if (program && program.state !== "running") return "The application has stopped";
  if (channel && !channel.enabled) return "The channel is off";
  return "Everything is running";
}

export function StateCard({ status }: { readonly status: StatusView }): JSX.Element {
  const { channel, startedAt, now } = status;
  return (
    <section class="card hero" aria-labelledby="state">
      <span class="arch">
        <Mark size={34} />
      </span>
      <div>
        <h2 id="state">{headline(status)}</h2>
        {channel ? <Channel channel={channel} /> : <p>This service has no channel.</p>}
        <p class="facts-line">
          <span>
            <Icon name="clock" small />
            Up for <Since at={startedAt} now={now} />
          </span>
          {channel && (
            <span>
              <Icon name="power" small />
              {channel.enabled ? "Channel on" : "Channel off"}
            </span>
          )}
        </p>
      </div>
      {channel?.enabled && <Actions channel={channel} />}
    </section>
  );
}

function Channel({ channel }: { readonly channel: ChannelView }): JSX.Element {
  return (
    <p>
      Clients connect to{" "}
      <code class="mono" dir="ltr">
        {channel.url}
      </code>
    </p>
  );
}

function Actions({ channel }: { readonly channel: ChannelView }): JSX.Element {
  const { url } = useSite();
  return (
    <div class="row actions">
      <span class="scripted">
        <CopyButton text={channel.url} label="Copy URL" />
      </span>
      <LinkButton kind="primary" icon="plug" href={url("/connect")}>
        Connect a client
      </LinkButton>
    </div>
  );
}
