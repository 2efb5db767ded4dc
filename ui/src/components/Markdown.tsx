/* Markdown as elements: no HTML of the model's ever reaches the page. Blocks that did not change are not drawn again. */
import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode, useMemo } from "react";

export const Markdown = memo(function Markdown({ text, caret }: { text: string; caret?: boolean }) {
  const blocks = useMemo(() => marked.lexer(text, { gfm: true, breaks: true }).filter((token) => token.type !== "space"), [text]);
  return (
    <>
      {blocks.map((token, at) => (
        <Block key={at} raw={token.raw} token={token} caret={(caret ?? false) && at === blocks.length - 1} />
      ))}
      {caret && blocks.length === 0 && <span className="caret" />}
    </>
  );
});

const Block = memo(
  function Block({ token, caret }: { raw: string; token: Token; caret: boolean }) {
    return <>{drawBlock(token, caret ? <span className="caret" /> : null)}</>;
  },
  (a, b) => a.raw === b.raw && a.caret === b.caret,
);

function drawBlock(token: Token, caret: ReactNode): ReactNode {
  switch (token.type) {
    case "heading":
      return <p className="mdhead"><b>{inline((token as Tokens.Heading).tokens)}</b>{caret}</p>;
    case "code":
      return <pre className="code wrapped">{(token as Tokens.Code).text}{caret}</pre>;
    case "blockquote":
      return <blockquote>{(token as Tokens.Blockquote).tokens.map((each, at) => <Fragment key={at}>{drawBlock(each, null)}</Fragment>)}{caret}</blockquote>;
    case "list": {
      const list = token as Tokens.List;
      const items = list.items.map((item, at) => (
        <li key={at}>
          {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly aria-label={item.checked ? "done" : "open"} />}
          {item.tokens.map((each, inner) => <Fragment key={inner}>{each.type === "text" ? inline((each as Tokens.Text).tokens ?? [each]) : drawBlock(each, null)}</Fragment>)}
          {at === list.items.length - 1 && caret}
        </li>
      ));
      return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return drawTable(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw}{caret}</p>;
    default:
      return <p>{"tokens" in token && token.tokens ? inline(token.tokens) : token.raw}{caret}</p>;
  }
}

function drawTable(table: Tokens.Table): ReactNode {
  return (
    <div className="mdtable">
      <table className="mini">
        <thead><tr>{table.header.map((cell, at) => <th key={at} className={cell.align === "right" ? "r" : undefined}>{inline(cell.tokens)}</th>)}</tr></thead>
        <tbody>
          {table.rows.map((row, at) => <tr key={at}>{row.map((cell, inner) => <td key={inner} className={cell.align === "right" ? "r" : undefined}>{inline(cell.tokens)}</td>)}</tr>)}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, at) => <Fragment key={at}>{drawInline(token)}</Fragment>);
}

const SAFE_LINK = /^(https?:|mailto:)/i;

function drawInline(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{inline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <s>{inline((token as Tokens.Del).tokens)}</s>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const link = token as Tokens.Link;
      return SAFE_LINK.test(link.href) ? <a href={link.href} target="_blank" rel="noreferrer noopener">{inline(link.tokens)}</a> : inline(link.tokens);
    }
    case "image": // never fetched: a picture's address could carry what the agent knows to somebody else
      return <span className="mut">[picture: {(token as Tokens.Image).text || (token as Tokens.Image).href}]</span>;
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return (token as Tokens.Text).tokens ? inline((token as Tokens.Text).tokens ?? []) : unescapeHtml((token as Tokens.Text).text);
    default:
      return token.raw;
  }
}

function unescapeHtml(text: string): string {
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (_, name: string) => ({ lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" })[name] ?? "");
}
