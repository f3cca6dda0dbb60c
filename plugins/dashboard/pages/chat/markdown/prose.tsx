/** Draws markdown, also while it grows. @module */
import { signal } from "@preact/signals";
import type { Tokens } from "marked";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Code } from "../../parts/code.tsx";
import { PlainText } from "../../parts/drawn.tsx";
import type * as EngineModule from "./engine.ts";

type Engine = typeof EngineModule;

const engine = signal<Engine | undefined>(undefined);
let loading: Promise<void> | undefined;

/** Loads the engine once. Until then, markdown is shown as plain text. */
function loadEngine(): void {
  loading ??= import("./engine.ts").then(
    (loaded) => {
      engine.value = loaded;
    },
    () => {
      loading = undefined;
    },
  );
}

/** Code that grows is highlighted with each update, up to this length. */
const maxGrowing = 2_000;

interface ProseProps {
  readonly text: string;
  /** True while text is added. The last block then has a cursor. */
  readonly isStreaming?: boolean;
}

/** Draws a message. Finished blocks are neither lexed nor drawn again. */
export function Prose({ text, isStreaming = false }: ProseProps): JSX.Element {
  useEffect(loadEngine, []);
  const loaded = engine.value;
  const reader = useMemo(() => loaded?.createReader(), [loaded]);
  const blocks = useMemo(() => reader?.read(text), [reader, text]);
  const className = `prose${isStreaming ? " streaming" : ""}`;
  if (!loaded || !blocks)
    return (
      <div class={`${className} plain`}>
        <PlainText text={text} />
      </div>
    );
  return (
    <div class={className} dir="auto">
      {blocks.map(({ key, token }, at) =>
        isStreaming && at === blocks.length - 1 && token.type === "code" ? (
          <GrowingCode key={key} token={token as Tokens.Code} />
        ) : (
          loaded.drawToken(token, key)
        ),
      )}
    </div>
  );
}

/** Long code is plain while it grows. */
function GrowingCode({ token: { lang = "", text } }: { readonly token: Tokens.Code }): JSX.Element {
  const isLong = text.length > maxGrowing;
  return <Code language={isLong ? "" : lang} title={lang || "text"} text={text} />;
}
