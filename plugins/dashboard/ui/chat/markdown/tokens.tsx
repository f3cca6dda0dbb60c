/** Draws tokens of markdown as components. No HTML string exists: HTML stays text. @module */
import type { Token, Tokens } from "marked";
import type { ComponentChildren, JSX } from "preact";
import { Code } from "../../parts/code.tsx";
import { decodeReferences, safeHref } from "./links.ts";

type Draw = (token: Token) => ComponentChildren;

/** Draws tokens in a row. Their order does not change, so their position is their key. */
const drawAll = (tokens: readonly Token[] | undefined): ComponentChildren =>
  tokens?.map((token, at) => <TokenView key={at} token={token} />);

function TokenView({ token }: { readonly token: Token }): JSX.Element {
  return <>{drawToken(token)}</>;
}

interface LinkProps {
  readonly href: string;
  readonly children: ComponentChildren;
}

/** A link to another page opens a new tab. Other addresses are text. */
function Link({ href, children }: LinkProps): JSX.Element {
  const safe = safeHref(href);
  if (safe === undefined) return <span>{children}</span>;
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

const alignments: Readonly<Record<string, string>> = { right: "r", center: "c" };
const classOf = (align: string | null | undefined): string | undefined =>
  align ? alignments[align] : undefined;

function Table({ token }: { readonly token: Tokens.Table }): JSX.Element {
  const { header, rows, align } = token;
  return (
    <div class="scroll-x" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, at) => (
              <th key={at} class={classOf(align[at])}>
                {drawAll(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, at) => (
                <td key={at} class={classOf(align[at])}>
                  {drawAll(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function List({ token }: { readonly token: Tokens.List }): JSX.Element {
  const items = token.items.map((item, at) => (
    <li key={at} class={item.task ? "task" : undefined}>
      {drawAll(item.tokens)}
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={typeof token.start === "number" ? token.start : 1}>{items}</ol>;
}

/** A page has one `h1`, and messages have the levels below it. */
function Heading({ token }: { readonly token: Tokens.Heading }): JSX.Element {
  const content = drawAll(token.tokens);
  return token.depth < 3 ? <h2>{content}</h2> : <h3>{content}</h3>;
}

/** Images of other servers would tell them who reads the message, so they are links. */
function ImageLink({ token }: { readonly token: Tokens.Image }): JSX.Element {
  return <Link href={token.href}>{decodeReferences(token.text) || token.href}</Link>;
}

const text: Draw = (token) => {
  const { tokens, text: content } = token as Tokens.Text;
  return tokens ? drawAll(tokens) : decodeReferences(content);
};
const raw: Draw = ({ raw: content }) => content;

const draws: Readonly<Record<string, Draw>> = {
  space: () => undefined,
  br: () => <br />,
  hr: () => <hr />,
  def: () => undefined,
  heading: (token) => <Heading token={token as Tokens.Heading} />,
  paragraph: (token) => <p>{drawAll((token as Tokens.Paragraph).tokens)}</p>,
  strong: (token) => <strong>{drawAll((token as Tokens.Strong).tokens)}</strong>,
  em: (token) => <em>{drawAll((token as Tokens.Em).tokens)}</em>,
  del: (token) => <del>{drawAll((token as Tokens.Del).tokens)}</del>,
  codespan: (token) => <code dir="ltr">{(token as Tokens.Codespan).text}</code>,
  code: (token) => {
    const { lang = "", text: content } = token as Tokens.Code;
    return <Code language={lang.split(/\s/, 1)[0] ?? ""} text={content} />;
  },
  blockquote: (token) => <blockquote>{drawAll((token as Tokens.Blockquote).tokens)}</blockquote>,
  link: (token) => {
    const { href, tokens } = token as Tokens.Link;
    return <Link href={href}>{drawAll(tokens)}</Link>;
  },
  image: (token) => <ImageLink token={token as Tokens.Image} />,
  list: (token) => <List token={token as Tokens.List} />,
  table: (token) => <Table token={token as Tokens.Table} />,
  checkbox: (token) => {
    const { checked } = token as Tokens.Checkbox;
    return <input type="checkbox" checked={checked} disabled aria-label="Done" />;
  },
  escape: (token) => (token as Tokens.Escape).text,
  text,
  html: raw,
};

/** Draws one token. Unknown ones are shown as they were written. */
export function drawToken(token: Token): ComponentChildren {
  return (draws[token.type] ?? raw)(token);
}
