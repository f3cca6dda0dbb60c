/** The program that answers, with its latest output. @module */
import type { JSX } from "preact";
import type { ProgramView } from "../../shared/views.ts";
import { Badge } from "../parts/states.tsx";
import { programDetails, programState } from "../../shared/program-labels.ts";

/** State, process, work and standard error of the program. */
export function ApplicationCard({ program }: { readonly program: ProgramView }): JSX.Element {
  const { text, tone } = programState(program.state);
  return (
    <section class="card application" aria-labelledby="application">
      <header>
        <h2 class="grow" id="application">
          Application
        </h2>
        <Badge tone={tone}>{text}</Badge>
      </header>
      <div class="body stack">
        <dl class="kv">
          <dt>Command</dt>
          <dd>
            <code dir="ltr">{program.command}</code>
          </dd>
          {programDetails(program).map(([name, value]) => (
            <Detail key={name} name={name} value={value} />
          ))}
        </dl>
        <div class="stack">
          <h3 id="stderr">Recent stderr output</h3>
          {program.stderr.length === 0 ? (
            <p class="hint">No output on stderr yet.</p>
          ) : (
            <ol class="stderr" dir="ltr" tabIndex={0} aria-labelledby="stderr">
              {program.stderr.map((line, at) => (
                <li key={at}>{line.text}</li>
              ))}
            </ol>
          )}
        </div>
      </div>
    </section>
  );
}

function Detail({ name, value }: { readonly name: string; readonly value: string }): JSX.Element {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
