/** Card that tries every way to connect. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TestMethod, TestResult, TestView } from "../../shared/views.ts";
import { requestAsOwner } from "../live/owner.ts";
import { Button } from "../parts/button.tsx";
import { Badge } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { testResultLabel } from "../../shared/test-labels.ts";

const methods: readonly (readonly [TestMethod, string])[] = [
  ["header", "Authorization header"],
  ["subprotocol", "Subprotocol"],
  ["requests", "HTTP without WebSocket"],
  ["query", "Token in URL"],
];

export function TestCard(): JSX.Element {
  const [results, setResults] = useState<readonly TestResult[]>([]);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = async (): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    const answer = await requestAsOwner<TestView>("POST", "/api/channels/pico/try");
    setBusy(false);
    if ("error" in answer) return setProblem(answer.error.message);
    setResults(answer.body.results);
  };
  return (
    <section class="card" aria-labelledby="try-title">
      <header>
        <h2 id="try-title">Test connection</h2>
      </header>
      <div class="body stack">
        <p class="muted">
          The server connects to its own channel in each way a client can, with the real token.
        </p>
        <Button kind="primary" block icon="zap" busy={isBusy && "Testing…"} onClick={run}>
          Try every way
        </Button>
        <p class="problem" role="alert" hidden={problem === undefined}>
          {problem}
        </p>
        <ul class="try" aria-live="polite">
          {methods.map(([method, name]) => (
            <Method
              key={method}
              name={name}
              isBusy={isBusy}
              result={results.find((result) => result.method === method)}
            />
          ))}
        </ul>
      </div>
    </section>
  );
}

interface MethodProps {
  readonly name: string;
  readonly isBusy: boolean;
  readonly result: TestResult | undefined;
}

function Method({ name, isBusy, result }: MethodProps): JSX.Element {
  const { url } = useSite();
  const isOff = result?.code === "token_query_disabled";
  return (
    <li data-method={result?.method}>
      <span>{name}</span>
      <ResultBadge isBusy={isBusy} result={result} />
      {result && !result.ok && !isBusy && (
        <p class="hint">
          {isOff ? (
            <>
              Good: URLs end up in logs. <a href={url("/settings/access")}>Setting</a>
            </>
          ) : (
            testResultLabel(result.code)
          )}
        </p>
      )}
    </li>
  );
}

function ResultBadge({ isBusy, result }: Omit<MethodProps, "name">): JSX.Element {
  if (isBusy) return <Badge>Testing…</Badge>;
  if (!result) return <Badge>Not tested</Badge>;
  if (result.ok) return <Badge tone="ok">Works · {Math.round(result.ms)} ms</Badge>;
  return result.code === "token_query_disabled" ? (
    <Badge tone="off">Turned off</Badge>
  ) : (
    <Badge tone="bad">Failed</Badge>
  );
}
