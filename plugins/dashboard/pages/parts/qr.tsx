/** A QR code as SVG. @module */
import type { JSX } from "preact";
import { onDemand } from "../live/on-demand.ts";

interface QrProps {
  readonly text: string;
  /** Content of the code, for assistive technology. */
  readonly label: string;
}

const useEncoder = onDemand(async () => {
  const { encode } = await import("uqr");
  return { encode };
});

const square = (isDark: boolean, x: number, y: number): string =>
  isDark ? `M${x},${y}h1v1h-1z` : "";

/** Dark on white in both themes, since cameras expect it. Empty until the encoder is loaded. */
export function Qr({ text, label }: QrProps): JSX.Element {
  const { size, data } = useEncoder()?.encode(text, { border: 0 }) ?? { size: 1, data: [] };
  const path = data.flatMap((row, y) => row.map((isDark, x) => square(isDark, x, y)));
  return (
    <div class="qr">
      <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
        <path d={path.join("")} />
      </svg>
    </div>
  );
}
