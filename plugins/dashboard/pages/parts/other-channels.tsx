/** The channels of other authors. @module */
import type { JSX } from "preact";
import type { ChannelsView } from "../../shared/views.ts";
import { formatCount } from "../../shared/format.ts";
import { Icon } from "./icon.tsx";

interface OtherChannelsProps {
  readonly channels: NonNullable<ChannelsView["others"]>;
}

export function OtherChannels({ channels }: OtherChannelsProps): JSX.Element {
  return (
    <section class="card" aria-labelledby="other-channels">
      <header>
        <h2 class="grow" id="other-channels">
          Other channels
        </h2>
      </header>
      <div class="table-wrap" tabIndex={0} role="group" aria-label="Table of other channels">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Channel</th>
              <th scope="col">Conversations</th>
              <th scope="col" class="end">
                Connected sessions
              </th>
              <th scope="col" class="end">
                In / out
              </th>
            </tr>
          </thead>
          <tbody>
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
          </tbody>
        </table>
      </div>
    </section>
  );
}
