/** Card that tries every way to connect. @module */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { TestMethod, TestResult, TestView } from "../../shared/views.ts";
import { requestAsOwner } from "../live/owner.ts";
import { useAct } from "../live/act.ts";
import { FieldProblem } from "../parts/field.tsx";
import { Button } from "../parts/button.tsx";
import { Card } from "../parts/card.tsx";
import { Badge } from "../parts/states.tsx";
import { useSite } from "../site.tsx";
import { lookUp } from "../../shared/look-up.ts";

const methods: readonly (readonly [TestMethod, string])[] = [
  ["header", "Authorization header"],
  ["subprotocol", "Subprotocol"],
  ["requests", "HTTP without WebSocket"],
  ["query", "Token in URL"],
];

export function TestCard(): JSX.Element {
  const [results, setResults] = useState<readonly TestResult[]>([]);
  const { isBusy, problem, act } = useAct(async () => {
    const answer = await requestAsOwner<TestView>("POST", "/api/channels/pico/try");
    if ("error" in answer) return answer.error.message;
    setResults(answer.body.results);
    return undefined;
  });
  return (
    <Card id="try-title" title="Test connection">
      <div class="body stack">
        <p class="muted">
          The server connects to its own channel in each way a client can, with the real token.
        </p>
        <Button kind="primary" block icon="zap" busy={isBusy && "Testing…"} onClick={act}>
          Try every way
        </Button>
        <FieldProblem text={problem} />
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
    </Card>
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

const testResults: Readonly<Record<string, string>> = {
  not_found: "The channel is off.",
  token_not_configured: "The channel has no token yet.",
  token_mismatch: "The channel rejected the token.",
  token_missing: "The channel received no token. A proxy may have removed the header.",
  rate_limited: "This machine sent too many wrong tokens. Try again in a minute.",
  too_many_connections: "The channel has reached its maximum number of connections.",
  origin_not_allowed: "allow_origins does not include the origin of this page.",
  timeout: "The channel did not respond in time.",
  network: "No server responded at this URL.",
};

/** Explains in one sentence why a connection test failed. */
function testResultLabel(code: string): string {
  return lookUp(testResults, code) ?? `The response was: ${code.replaceAll("_", " ")}.`;
}
