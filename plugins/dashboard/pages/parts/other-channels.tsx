/** The channels of other authors. @module */
import type { ChannelsView } from "../../shared/views.ts";
import { formatCount } from "../../shared/format.ts";
import { Card } from "./card.tsx";
import { Table } from "./table.tsx";
import { Icon } from "./icon.tsx";

const columns = [
  ["Channel"],
  ["Conversations"],
  ["Connected sessions", "end"],
  ["In / out", "end"],
] as const;

export function OtherChannels({ channels }: { channels: NonNullable<ChannelsView["others"]> }) {
  return (
    <Card id="other-channels" title="Other channels">
      <Table label="Table of other channels" columns={columns}>
        {channels.map(({ name, isKept, acceptsConsole, sessions, received, sent }) => (
          <tr key={name}>
            <td>
              <span class="row">
                <Icon name="cable" small />
                <b class="cut">{name}</b>
              </span>
            </td>
            <td class="muted">
              {isKept ? "Kept" : "Not kept"}
              {acceptsConsole && ", you can write"}
            </td>
            <td class="end num">{formatCount(sessions)}</td>
            <td class="end num">
              {formatCount(received)} / {formatCount(sent)}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
