/** Draws markdown, also while it grows. @module */
import type { Tokens } from "marked";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { Code } from "../../parts/code.tsx";
import { Drawn, PlainText } from "../../parts/drawn.tsx";
import { onDemand } from "../../live/on-demand.ts";

/** Until it is loaded, markdown is shown as plain text. */
const useEngine = onDemand(() => import("./engine.ts"));

/** Code that grows is highlighted with each update, up to this length. */
const maxGrowing = 2_000;
/** Units of drawing that the reading of a character costs. A long text takes a frame of its own. */
const readCost = 0.5;

interface ProseProps {
  readonly text: string;
  /** True while text is added. The last block then has a cursor. */
  readonly isStreaming?: boolean;
}

/** Draws a message. Finished blocks are neither lexed nor drawn again. */
export function Prose({ text, isStreaming = false }: ProseProps): JSX.Element {
  const loaded = useEngine();
  const reader = useMemo(() => loaded?.createReader(), [loaded]);
  const shown = useMemo(() => ({}), [reader, text, isStreaming]);
  const className = `prose${isStreaming ? " streaming" : ""}`;
  if (!loaded || !reader)
    return (
      <div class={`${className} plain`}>
        <PlainText text={text} />
      </div>
    );
  const draw = (): JSX.Element[] =>
    reader
      .read(text)
      .map(({ key, token }, at, { length }) =>
        isStreaming && at === length - 1 && token.type === "code" ? (
          <GrowingCode key={key} token={token as Tokens.Code} />
        ) : (
          loaded.drawToken(token, key)
        ),
      );
  return (
    <div class={className} dir="auto">
      <Drawn of={shown} cost={readCost * text.length} draw={draw} />
    </div>
  );
}

/** Long code is plain while it grows. */
function GrowingCode({ token: { lang = "", text } }: { readonly token: Tokens.Code }): JSX.Element {
  const isLong = text.length > maxGrowing;
  return <Code language={isLong ? "" : lang} title={lang || "text"} text={text} />;
}
