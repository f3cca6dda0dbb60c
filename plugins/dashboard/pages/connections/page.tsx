/** Clients page, tab Connections. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ClientsTabs } from "../clients/tabs.tsx";
import { Connections } from "./list.tsx";

/** Data of the page. */
export interface ConnectionsData {
  /** Number of open connections. */
  readonly count: number;
  /** The most connections that the channel accepts; undefined without a channel. */
  readonly max?: number | undefined;
}

export function ConnectionsPage({ data }: { readonly data: ConnectionsData }): JSX.Element {
  const [count, setCount] = useState(data.count);
  return (
    <div class="page-in">
      <ClientsTabs tab="connections" count={count} />
      <Connections onCount={setCount} max={data.max} />
    </div>
  );
}
