/** Clients page: the tabs Connect and Connections. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { formatCount } from "../text/format.ts";
import { Connect, type ConnectData } from "./connect.tsx";
import { Connections } from "./connections.tsx";

/** Data of the clients page. */
export interface ClientsData extends ConnectData {
  readonly tab: "connect" | "connections";
}

export function ClientsPage({ data }: { readonly data: ClientsData }): JSX.Element {
  const { url } = useSite();
  const { tab, channel } = data;
  const [count, setCount] = useState(channel?.connections ?? 0);
  return (
    <div class="page-in">
      <PageHead title="Clients" text="Apps, devices and scripts that talk to your application." />
      <nav class="tabs" aria-label="Clients">
        <a href={url("/clients")} aria-current={tab === "connect" ? "page" : undefined}>
          <Icon name="plug" small />
          Connect
        </a>
        <a
          href={url("/clients/connections")}
          aria-current={tab === "connections" ? "page" : undefined}
        >
          <Icon name="cable" small />
          Connections <span class="badge">{formatCount(count)}</span>
        </a>
      </nav>
      {tab === "connect" ? (
        <Connect data={data} />
      ) : (
        <Connections onCount={setCount} max={channel?.maxConnections} />
      )}
    </div>
  );
}
