/** A QR code as SVG. @module */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";

interface QrProps {
  readonly text: string;
  /** Content of the code, for assistive technology. */
  readonly label: string;
}

interface Drawing {
  readonly size: number;
  readonly path: string;
}

/** Dark on white in both themes, since cameras expect it. Empty until the encoder is loaded. */
export function Qr({ text, label }: QrProps): JSX.Element {
  const [drawing, setDrawing] = useState<Drawing>();
  useEffect(() => {
    let isCurrent = true;
    void import("./qr-path.ts").then(({ toQrPath }) => {
      if (isCurrent) setDrawing(toQrPath(text));
    });
    return () => {
      isCurrent = false;
    };
  }, [text]);
  return (
    <div class="qr">
      <svg
        viewBox={drawing ? `0 0 ${drawing.size} ${drawing.size}` : "0 0 1 1"}
        role="img"
        aria-label={label}
      >
        <path d={drawing?.path ?? ""} />
      </svg>
    </div>
  );
}
