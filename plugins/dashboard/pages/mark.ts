// Renders the logo.
import { html, type Html } from "./html.ts";

/** Renders the logo. Size and colours are attributes, since some pages load no style sheet. */
export function mark(size: number): Html {
  return html`<svg class="mark" width="${size}" height="${size}" viewBox="0 0 32 32"
 aria-hidden="true" focusable="false">
<path class="mark-wall" fill="#0c6a60" d="M4 29V14a12 12 0 0 1 24 0v15z"/>
<path class="mark-light" fill="#ffd48a" d="M9 29V14.5a7 7 0 0 1 14 0V29z"/>
<path class="mark-leaf" fill="#084841" d="M9 29V14.5a7 7 0 0 1 5-6.7l3 2.7v20.6z"/>
<circle class="mark-knob" fill="#ffd48a" cx="14.6" cy="20.6" r="1"/>
</svg>`;
}
