/** Draws tokens of markdown as elements. No HTML string exists: HTML stays text. @module */
import type { Token, Tokens } from "marked";
import { Fragment, h, type ComponentChildren, type JSX } from "preact";
import { useMemo } from "preact/hooks";
import { drawCost } from "../../live/draw-budget.ts";
import { onDemand } from "../../live/on-demand.ts";
import { Code } from "../../parts/code.tsx";
import { CopyButton } from "../../parts/copy.tsx";
import { Drawn, PlainText } from "../../parts/drawn.tsx";
import type { DetailsToken } from "./details.ts";
import type { FootnoteToken } from "./footnotes.ts";
import { childrenOf, isCutToken, plainToken } from "./lexer.ts";
import { hasLongWord } from "../../../shared/split-long-text.ts";
import { Link } from "./link.tsx";
import { decodeReferences, inlineImage } from "./links.ts";
import type { MathToken } from "./maths.ts";
import { Footnote, FootnoteMark, isSvg, SvgCode } from "./notes.tsx";

/** Draws one part of a token: now, or once a frame has the time for it. */
type DrawPart = (
  of: { readonly raw: string } | Tokens.TableCell[],
  key: number,
  draw: () => JSX.Element,
) => JSX.Element;
type Draw = (token: Token, drawPart: DrawPart) => ComponentChildren;

/** A block of code has a frame and buttons. */
const codeCost = 800;
/** The parts of a more expensive token are drawn one by one. */
const maxCost = 3_000;

/** Estimates the cost of a token with its parts, except those of plain text. */
function costOf(token: Token): number {
  if (token.type === "code") return codeCost + drawCost(token.raw);
  if (token.type === plainToken) return drawCost("");
  const children = childrenOf(token);
  if (children.length === 0) return drawCost(token.raw);
  return children.reduce((sum, child) => sum + costOf(child), drawCost(""));
}

const drawNow: DrawPart = (_, key, draw) => <Fragment key={key}>{draw()}</Fragment>;
const drawSoon: DrawPart = (of, key, draw) => (
  <Drawn key={key} of={of} cost={drawCost("")} draw={draw} />
);

/** Draws a token once a frame has the time for it. */
export function drawToken(token: Token, key: number): JSX.Element {
  const cost = costOf(token);
  const isSmall = cost <= maxCost || childrenOf(token).length === 0;
  return (
    <Drawn
      key={key}
      of={token}
      cost={isSmall ? cost : drawCost("")}
      draw={() => drawOne(token, isSmall ? drawNow : drawSoon)}
    />
  );
}

/** Tags without attributes that are drawn. All other HTML stays text. */
const openingTag = /^<(sub|sup|kbd)>$/i;

/** @returns Position of the closing tag; -1 if the token does not open one of the tags. */
function endOfTag(tokens: readonly Token[], at: number): number {
  const { type, raw: opening } = tokens[at]!;
  const [, tag] = (type === "html" && openingTag.exec(opening)) || [];
  if (tag === undefined) return -1;
  const closing = `</${tag}>`.toLowerCase();
  // A tag closes soon, or not at all.
  const near = tokens.slice(at, at + 20);
  const found = near.findIndex(({ raw: text }) => text.toLowerCase() === closing);
  return found < 0 ? -1 : at + found;
}

/** Draws tokens in a row. Their order does not change, so their position is their key. */
function drawAll(tokens: readonly Token[] | undefined, drawPart: DrawPart): ComponentChildren {
  const drawn: ComponentChildren[] = [];
  for (let at = 0; tokens && at < tokens.length; at++) {
    const token = tokens[at]!;
    const end = endOfTag(tokens, at);
    if (end > 0) {
      const [, tag = ""] = openingTag.exec(token.raw)!;
      const inner = drawAll(tokens.slice(at + 1, end), drawPart);
      drawn.push(h(tag.toLowerCase(), { key: at }, inner));
      at = end;
    } else if (drawPart === drawNow)
      drawn.push(<Fragment key={at}>{drawOne(token, drawNow)}</Fragment>);
    else drawn.push(drawToken(token, at));
  }
  return drawn;
}

/** A browser lays out a paragraph in one go, so a longer one is several. */
const maxParagraph = 4_000;
const layoutLength = ({ type, raw }: Token): number =>
  (type === "text" && hasLongWord(raw) ? 4 : 1) * raw.length;

/** Draws inline tokens, in several elements if they are long. */
function drawParagraphs(
  tokens: readonly Token[] | undefined,
  tag: "p" | "div",
  drawPart: DrawPart,
): ComponentChildren {
  const groups: Token[][] = [[]];
  let length = 0;
  for (const token of tokens ?? []) {
    length += layoutLength(token);
    if (length > maxParagraph) {
      groups.push([]);
      length = layoutLength(token);
    }
    groups.at(-1)!.push(token);
  }
  return groups.map((group, at) => h(tag, { key: at, dir: "auto" }, drawAll(group, drawPart)));
}

/** Draws inline tokens without an element of their own, unless they are long. */
function drawInline(tokens: readonly Token[] | undefined, drawPart: DrawPart): ComponentChildren {
  const length = tokens?.reduce((sum, token) => sum + layoutLength(token), 0) ?? 0;
  return length > maxParagraph
    ? drawParagraphs(tokens, "div", drawPart)
    : drawAll(tokens, drawPart);
}

const useMathml = onDemand(() => import("./mathml.ts"));

interface FormulaProps {
  /** The formula with its marks. */
  readonly source: string;
  readonly tex: string;
  readonly isBlock: boolean;
}

/** A formula. The library loads with the first one. Until then, TeX is shown. */
function Formula({ source, tex, isBlock }: FormulaProps): JSX.Element {
  const loaded = useMathml();
  const drawn = useMemo(() => loaded?.drawFormula(tex, isBlock), [loaded, tex, isBlock]);
  if (!drawn) return <code dir="ltr">{source}</code>;
  return (
    <span class={isBlock ? "formula block" : "formula"} dir="ltr">
      {drawn}
    </span>
  );
}

/** Characters of a cell that stays in one line, such as an amount with its unit. */
const maxShortCell = 14;
const alignments: Readonly<Record<string, string>> = { right: "r", center: "c" };
const classOf = (align: string | null | undefined): string | undefined =>
  align ? alignments[align] : undefined;

function drawTable(table: Tokens.Table, drawPart: DrawPart): JSX.Element {
  const { header, rows, align } = table;
  const draw = (tag: "th" | "td", { text, tokens }: Tokens.TableCell, at: number): JSX.Element => {
    const kinds = [classOf(align[at]), text.length <= maxShortCell ? "short" : undefined];
    const name = kinds.filter(Boolean).join(" ") || undefined;
    return h(tag, { key: at, dir: "auto", class: name }, drawInline(tokens, drawPart));
  };
  const lines = [header, ...rows].map((cells) => cells.map(({ text: cell }) => cell).join("\t"));
  return (
    <div class="table">
      {!isCutToken(table) && <CopyButton text={lines.join("\n")} label="Copy table" icon />}
      <div class="scroll-x" tabIndex={0} role="group" aria-label="Table">
        <table>
          <thead>
            <tr>{header.map((cell, at) => draw("th", cell, at))}</tr>
          </thead>
          <tbody>
            {rows.map((cells, row) =>
              drawPart(cells, row, () => <tr>{cells.map((cell, at) => draw("td", cell, at))}</tr>),
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function drawList({ items, ordered, start }: Tokens.List, drawPart: DrawPart): JSX.Element {
  const drawn = items.map((item, at) =>
    drawPart(item, at, () => (
      <li dir="auto" class={item.task ? "task" : undefined}>
        {drawAll(item.tokens, drawPart)}
      </li>
    )),
  );
  if (!ordered) return <ul>{drawn}</ul>;
  return <ol start={typeof start === "number" ? start : 1}>{drawn}</ol>;
}

/** A page has one `h1`, and messages have the levels below it. */
function drawHeading({ tokens, depth }: Tokens.Heading, drawPart: DrawPart): JSX.Element {
  const content = drawInline(tokens, drawPart);
  return depth < 3 ? <h2 dir="auto">{content}</h2> : <h3 dir="auto">{content}</h3>;
}

const text: Draw = (token, drawPart) => {
  const { tokens, text: content } = token as Tokens.Text;
  return tokens ? drawInline(tokens, drawPart) : decodeReferences(content);
};
const raw: Draw = ({ raw: content }) => content;

const draws: Readonly<Record<string, Draw>> = {
  space: () => undefined,
  br: () => <br />,
  hr: () => <hr />,
  def: () => undefined,
  heading: (token, drawPart) => drawHeading(token as Tokens.Heading, drawPart),
  paragraph: (token, drawPart) => drawParagraphs((token as Tokens.Paragraph).tokens, "p", drawPart),
  strong: (token, drawPart) => (
    <strong>{drawAll((token as Tokens.Strong).tokens, drawPart)}</strong>
  ),
  em: (token, drawPart) => <em>{drawAll((token as Tokens.Em).tokens, drawPart)}</em>,
  del: (token, drawPart) => <del>{drawAll((token as Tokens.Del).tokens, drawPart)}</del>,
  codespan: (token) => <code dir="ltr">{(token as Tokens.Codespan).text}</code>,
  code: (token) => {
    const { lang = "", text: content } = token as Tokens.Code;
    const [language = ""] = lang.split(/\s/, 1);
    if (isCutToken(token)) return <Code language={language} text={content} actions={<></>} />;
    const props = { language, text: content, fileName: fileNameOf(language) };
    return isSvg(language, content) ? <SvgCode {...props} /> : <Code {...props} />;
  },
  blockquote: (token, drawPart) => (
    <blockquote>{drawAll((token as Tokens.Blockquote).tokens, drawPart)}</blockquote>
  ),
  link: (token, drawPart) => {
    const { href, tokens } = token as Tokens.Link;
    return <Link href={href}>{drawAll(tokens, drawPart)}</Link>;
  },
  // Images of other servers would tell them who reads the message, so they are links.
  image: (token) => {
    const { href, text: content } = token as Tokens.Image;
    if (inlineImage.test(href))
      return <img class="attached" src={href} alt={decodeReferences(content) || "Image"} />;
    return <Link href={href}>{decodeReferences(content) || href}</Link>;
  },
  list: (token, drawPart) => drawList(token as Tokens.List, drawPart),
  table: (token, drawPart) => drawTable(token as Tokens.Table, drawPart),
  checkbox: (token) => {
    const { checked } = token as Tokens.Checkbox;
    return <input type="checkbox" checked={checked} disabled aria-label="Done" />;
  },
  [plainToken]: (token) => (
    <>
      <p class="muted xs">Too long for formatting: the following text is as it was written.</p>
      <div class="plain">
        <PlainText text={token.raw} />
      </div>
    </>
  ),
  escape: (token) => (token as Tokens.Escape).text,
  text,
  html: ({ raw: content }) => (/^<br\s{0,9}\/?>\s*$/i.test(content) ? <br /> : content),
  details: (token, drawPart) => {
    const { summary, tokens, isClosed } = token as DetailsToken;
    return (
      <details open={!isClosed}>
        <summary dir="auto">{drawAll(summary, drawNow)}</summary>
        {drawAll(tokens, drawPart)}
      </details>
    );
  },
  footnote: (token, drawPart) => {
    const { id, tokens } = token as FootnoteToken;
    return <Footnote id={id}>{drawAll(tokens, drawPart)}</Footnote>;
  },
  footnoteMark: (token) => <FootnoteMark id={(token as FootnoteToken).id} />,
  math: (token) => {
    const { raw: source, text: tex, isBlock } = token as MathToken;
    return <Formula source={source} tex={tex} isBlock={isBlock} />;
  },
};

const extensions: Readonly<Record<string, string>> = {
  bash: "sh",
  javascript: "js",
  mermaid: "mmd",
  python: "py",
  shell: "sh",
  typescript: "ts",
};

/** Name of a download: the language is a name that the application chose. */
function fileNameOf(language: string): string {
  const name = language.toLowerCase();
  const known = /^[a-z0-9]{1,10}$/.test(name) ? (extensions[name] ?? name) : "txt";
  return `code.${known}`;
}

/** Draws one token. Unknown ones are shown as they were written. */
const drawOne: Draw = (token, drawPart) => (draws[token.type] ?? raw)(token, drawPart);
