/** Clients page, tab Connect. @module */
import type { JSX } from "preact";
import { Connect, type ConnectData } from "./connect.tsx";
import { ClientsTabs } from "./tabs.tsx";

export type { ConnectData } from "./connect.tsx";

export function ClientsPage({ data }: { readonly data: ConnectData }): JSX.Element {
  return (
    <div class="page-in">
      <ClientsTabs tab="connect" count={data.channel?.connections ?? 0} />
      <Connect data={data} />
    </div>
  );
}
