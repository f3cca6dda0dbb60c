/** Draws the change of a file: side by side in a wide window, else one below the other. @module */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import {
  countChanges,
  diffBlocks,
  maxDiffLines,
  splitBlocks,
  toRuns,
  type DiffBlock,
  type DiffLine,
} from "../../../../../lib/file-diff.ts";
import type { StepDetail } from "../../../../../lib/step-details.ts";
import { visibleText } from "../../../shared/visible-text.ts";

type DiffProps = Extract<StepDetail, { type: "diff" }>;

/** Lines that a fold does not hide. The rest opens, and its summary counts it. */
const maxShown = 16;

export function FileDiff({ path, old, new: changed, cut }: DiffProps): JSX.Element {
  const blocks = useMemo(() => diffBlocks(old ?? "", changed), [old, changed]);
  const isShown = !cut && blocks !== undefined;
  const { added, removed } = countChanges(isShown ? blocks : []);
  return (
    <div class="code diff">
      <header>
        <span class="grow">{visibleText(path)}</span>
        {old === undefined && !cut && <span>New file</span>}
        {isShown && <Counts added={added} removed={removed} />}
      </header>
      {isShown ? (
        <Lines path={path} blocks={blocks} isOneSided={added === 0 || removed === 0} />
      ) : (
        <p class="muted">
          {cut ? "The change is too large." : `The file has more than ${maxDiffLines} lines.`}
        </p>
      )}
    </div>
  );
}

const Counts = ({ added, removed }: { added: number; removed: number }): JSX.Element => (
  <span class="num" role="img" aria-label={`${added} added, ${removed} removed`}>
    {`+${added} −${removed}`}
  </span>
);

interface LinesProps {
  readonly path: string;
  readonly blocks: readonly DiffBlock[];
  /** Without a change that has both sides, one column has all. */
  readonly isOneSided: boolean;
}

const linesIn = (blocks: readonly DiffBlock[]): number =>
  blocks.reduce((sum, { lines }) => sum + lines.length, 0);

function Lines({ path, blocks, isOneSided }: LinesProps): JSX.Element {
  const [first, rest] = splitBlocks(blocks, maxShown);
  const draw = (list: readonly DiffBlock[]): readonly JSX.Element[] =>
    list.map((block, at) => <Block key={at} block={block} />);
  return (
    <div
      class={isOneSided ? "lines" : "lines sides"}
      dir="ltr"
      tabIndex={0}
      role="group"
      aria-label={`Change of ${visibleText(path)}`}
    >
      {draw(first)}
      {rest.length > 0 && (
        <details>
          <summary>{`${linesIn(rest)} more line${linesIn(rest) === 1 ? "" : "s"}`}</summary>
          {draw(rest)}
        </details>
      )}
    </div>
  );
}

const countUnchanged = (count: number): string =>
  `${count} unchanged line${count === 1 ? "" : "s"}`;

function Block({ block }: { readonly block: DiffBlock }): JSX.Element {
  if (block.kind === "folded")
    return (
      <details>
        <summary>{countUnchanged(block.lines.length)}</summary>
        <Run lines={block.lines.map((text) => ({ sign: " ", text }))} />
      </details>
    );
  return (
    <>
      {toRuns(block.lines).map((run, at) => (
        <Run key={at} lines={run} />
      ))}
    </>
  );
}

const names = { "+": "added", "-": "removed", " ": "kept" } as const;

/** An unchanged line stands on both sides; the second one is for the eye only. */
function Run({ lines }: { readonly lines: readonly DiffLine[] }): JSX.Element {
  return (
    <div class="run">
      {lines.map(({ sign, text }, at) => (
        <code key={at} class={names[sign]}>{`${sign} ${visibleText(text)}`}</code>
      ))}
      {lines[0]?.sign === " " &&
        lines.map(({ text }, at) => (
          <code key={`copy ${at}`} class="copy" aria-hidden="true">
            {`  ${visibleText(text)}`}
          </code>
        ))}
    </div>
  );
}
