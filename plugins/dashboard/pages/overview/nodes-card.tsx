/** The nodes that share the store of conversations. @module */
import type { JSX } from "preact";
import type { StatusView } from "../../shared/views.ts";
import { Badge, Notice } from "../parts/states.tsx";
import { Ago } from "../parts/time.tsx";
import { formatCount } from "../../shared/format.ts";

interface NodesCardProps {
  readonly nodes: NonNullable<NonNullable<StatusView["store"]>["nodes"]>;
  readonly now: number;
}

const states = {
  up: ["ok", "Running"],
  away: ["warn", "Not responding"],
  gone: ["bad", "Gone"],
} as const;

export function NodesCard({ nodes, now }: NodesCardProps): JSX.Element {
  const different = nodes.filter(({ differs }) => differs);
  return (
    <section class="card" aria-labelledby="nodes">
      <header>
        <h2 class="grow" id="nodes">
          Nodes
        </h2>
      </header>
      {different.length > 0 && (
        <Notice tone="warn">
          The channel has other settings on {different.map(({ name }) => name).join(", ")}. Use the
          same settings on all nodes.
        </Notice>
      )}
      <div class="table-wrap" tabIndex={0} role="group" aria-label="Nodes of the shared store">
        <table class="data">
          <thead>
            <tr>
              <th scope="col">Node</th>
              <th scope="col">State</th>
              <th scope="col" class="end">
                Sessions
              </th>
              <th scope="col" class="end">
                Last seen
              </th>
            </tr>
          </thead>
          <tbody>
            {nodes.map(({ id, name, state, sessions, lastSeenAt, isSelf }) => (
              <tr key={id}>
                <td>
                  <b class="cut">{name}</b>
                </td>
                <td>
                  <Badge tone={states[state][0]}>{states[state][1]}</Badge>
                </td>
                <td class="end num">{formatCount(sessions)}</td>
                <td class="end num">{isSelf ? "This node" : <Ago at={lastSeenAt} now={now} />}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
