/** Heading and tabs of the two clients pages. @module */
import type { JSX } from "preact";
import { Icon } from "../parts/icon.tsx";
import { PageHead } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { formatCount } from "../../shared/format.ts";

interface TabsProps {
  readonly tab: "connect" | "connections";
  /** Number of open connections. */
  readonly count: number;
}

export function ClientsTabs({ tab, count }: TabsProps): JSX.Element {
  const { url } = useSite();
  return (
    <>
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
    </>
  );
}
