/** Draws formulas. The library loads with the first one. Until then, TeX is shown. @module */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type * as MathmlModule from "./mathml.ts";

const library = signal<typeof MathmlModule | undefined>(undefined);
let loading: Promise<void> | undefined;

function load(): void {
  loading ??= import("./mathml.ts").then(
    (loaded) => {
      library.value = loaded;
    },
    () => {
      loading = undefined;
    },
  );
}

interface FormulaProps {
  /** The formula with its marks. */
  readonly source: string;
  readonly tex: string;
  readonly isBlock: boolean;
}

export function Formula({ source, tex, isBlock }: FormulaProps): JSX.Element {
  useEffect(load, []);
  const loaded = library.value;
  const drawn = useMemo(() => loaded?.drawFormula(tex, isBlock), [loaded, tex, isBlock]);
  if (!drawn) return <code dir="ltr">{source}</code>;
  return (
    <span class={isBlock ? "formula block" : "formula"} dir="ltr">
      {drawn}
    </span>
  );
}
