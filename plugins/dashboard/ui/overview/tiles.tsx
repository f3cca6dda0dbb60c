/** Four figures, each a link to its page. @module */
import type { ComponentChildren, JSX } from "preact";
import type { StatusView } from "../../api/views.ts";
import { Spark } from "../parts/chart.tsx";
import { useSite } from "../site.tsx";
import { formatCount } from "../text/format.ts";

interface TileProps {
  readonly href: string;
  readonly title: string;
  readonly value: string;
  readonly unit: string;
  readonly detail: string;
  readonly children?: ComponentChildren;
}

function Tile({ href, title, value, unit, detail, children }: TileProps): JSX.Element {
  const { url } = useSite();
  return (
    <a class="card tile" href={url(href)}>
      <span class="t">{title}</span>
      <span class="v">
        {value} <small>{unit}</small>
      </span>
      {children}
      <span class="d">{detail}</span>
    </a>
  );
}

export function Tiles({ status }: { readonly status: StatusView }): JSX.Element | null {
  const { channel } = status;
  if (!channel) return null;
  const { perMinute, refusals } = channel;
  const rejected = refusals.reduce((sum, { times }) => sum + times, 0);
  return (
    <div class="tiles">
      <Tile
        href="/connections"
        title="Connections"
        value={formatCount(channel.connections)}
        unit={`of ${formatCount(channel.maxConnections)}`}
        detail={channel.enabled ? "Open now" : "The channel is off"}
      />
      <Tile
        href="/chat"
        title="Messages"
        value={formatCount(perMinute.at(-1) ?? 0)}
        unit="per minute"
        detail={`${formatCount(channel.messagesIn)} in, ${formatCount(channel.messagesOut)} out`}
      >
        <Spark values={perMinute} />
      </Tile>
      <Tile
        href="/log"
        title="Rejected"
        value={formatCount(rejected)}
        unit="connections"
        detail={status.refusals.length === 0 ? "No failed sign-ins" : "Failed sign-ins, too"}
      />
    </div>
  );
}
