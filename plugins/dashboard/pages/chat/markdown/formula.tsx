/** Draws formulas. The library loads with the first one. Until then, TeX is shown. @module */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { onDemand } from "../../live/on-demand.ts";

const useMathml = onDemand(() => import("./mathml.ts"));

interface FormulaProps {
  /** The formula with its marks. */
  readonly source: string;
  readonly tex: string;
  readonly isBlock: boolean;
}

export function Formula({ source, tex, isBlock }: FormulaProps): JSX.Element {
  const loaded = useMathml();
  const drawn = useMemo(() => loaded?.drawFormula(tex, isBlock), [loaded, tex, isBlock]);
  if (!drawn) return <code dir="ltr">{source}</code>;
  return (
    <span class={isBlock ? "formula block" : "formula"} dir="ltr">
      {drawn}
    </span>
  );
}
