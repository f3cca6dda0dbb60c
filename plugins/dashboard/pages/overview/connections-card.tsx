/** The newest connections. @module */
import type { JSX } from "preact";
import type { ConnectionsView, ConnectionView } from "../../shared/views.ts";
import { Icon } from "../parts/icon.tsx";
import { Ago } from "../parts/time.tsx";
import { useSite } from "../site.tsx";
import { formatCount } from "../../shared/format.ts";
import { browserLabel } from "../../shared/client-labels.ts";

export function ConnectionsCard({ view, now }: { view: ConnectionsView; now: number }) {
  const { url } = useSite();
  const { total, connections } = view;
  return (
    <section class="card" aria-labelledby="newest">
      <header>
        <h2 class="grow" id="newest">
          Connections
        </h2>
        {total > 0 && <a href={url("/clients/connections")}>All {formatCount(total)}</a>}
      </header>
      {connections.length === 0 ? (
        <p class="body hint">No clients connected. Clients appear here as soon as they connect.</p>
      ) : (
        <div class="table-wrap" tabIndex={0} role="group" aria-label="Newest connections">
          <table class="data">
            <thead>
              <tr>
                <th scope="col">Client</th>
                <th scope="col">Address</th>
                <th scope="col" class="end">
                  Connected
                </th>
              </tr>
            </thead>
            <tbody>
              {connections.map((connection) => (
                <Row key={connection.id} connection={connection} now={now} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface RowProps {
  readonly connection: ConnectionView;
  readonly now: number;
}

function Row({ connection, now }: RowProps): JSX.Element {
  const { userAgent, method, address, since } = connection;
  const isPage = method === "dashboard";
  return (
    <tr>
      <td>
        <span class="row">
          <Icon name={isPage ? "globe" : "plug"} small />
          <b class="cut">{isPage ? "Dashboard" : browserLabel(userAgent ?? "") || address}</b>
        </span>
      </td>
      <td dir="ltr">{address}</td>
      <td class="end num">
        <Ago at={since} now={now} />
      </td>
    </tr>
  );
}
