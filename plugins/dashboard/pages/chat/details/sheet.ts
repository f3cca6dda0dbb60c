/** Styles of details, which only pages with details load. @module */
const rules = `
.steps .code p { padding: var(--s2) var(--s3); }
.steps .code pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; max-height: 20rem;
  overflow: auto; font-family: var(--mono); }
.steps .code header span:not(.grow) { padding-inline-end: var(--s2); }
.steps .places { overflow-wrap: anywhere; }
.diff header span { overflow-wrap: anywhere; }
.diff .lines { overflow: auto; max-height: 28rem; padding-block: var(--s1); }
.diff .lines code { display: block; width: max-content; min-width: 100%; white-space: pre;
  padding-inline: var(--s3); font-family: var(--mono); box-sizing: border-box; }
.diff .added { background: color-mix(in srgb, var(--ok) 16%, transparent); }
.diff .removed { background: color-mix(in srgb, var(--bad) 16%, transparent); }
.diff .lines details summary { min-height: 1.75rem; background: var(--sunk); color: var(--muted);
  font-size: var(--t-xs); }
.plan { border: 1px solid var(--line); border-radius: var(--r-lg); background: var(--surface);
  padding: var(--s2) var(--s3); font-size: var(--t-sm); }
.plan ol { list-style: none; margin: 0; padding: 0; }
.plan li { display: flex; gap: var(--s2); align-items: center; padding-block: var(--s1); }
.plan li .grow { overflow-wrap: anywhere; min-width: 0; }
.plan li.running .grow { font-weight: 600; }
`;

/** Adds the styles to the page. */
export function styleDetails(): void {
  if (typeof CSSStyleSheet === "undefined") return;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  document.adoptedStyleSheets.push(sheet);
}
