/** Draws markdown, also while it grows. @module */
import { signal } from "@preact/signals";
import type { Token, Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { Code } from "../../parts/code.tsx";
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
  if (!loaded || !blocks) return <div class={`${className} plain`}>{text}</div>;
  return (
    <div class={className} dir="auto">
      {blocks.map(({ key, token }, at) => (
        <BlockView
          key={key}
          token={token}
          draw={loaded.drawToken}
          isGrowing={isStreaming && at === blocks.length - 1 && token.type === "code"}
        />
      ))}
    </div>
  );
}

interface BlockProps {
  readonly token: Token;
  readonly draw: Engine["drawToken"];
  readonly isGrowing: boolean;
}

/** The same token gives the same element, which the renderer skips. */
function BlockView({ token, draw, isGrowing }: BlockProps): JSX.Element {
  const content = useMemo((): ComponentChildren => {
    if (!isGrowing || token.type !== "code") return draw(token);
    const { lang = "", text } = token as Tokens.Code;
    const isLong = text.length > maxGrowing;
    return <Code language={isLong ? "" : lang} title={lang || "text"} text={text} />;
  }, [token, draw, isGrowing]);
  return <>{content}</>;
}
