import { useState } from 'preact/hooks';
import { layOutJson } from '../../../domain/json-layout.ts';
import { CopyButton } from './copy.tsx';

/** Above this number of tokens, highlighting takes too long to render. */
const MAX_HIGHLIGHTED = 2_000;

type JsonTextProps = { text: string; title: string; heading?: 'h2' | 'h3' };

/** JSON formatted for reading, or exactly as sent. The copy button always copies it as sent. */
export function JsonText({ text, title, heading: Heading = 'h3' }: JsonTextProps) {
  const [raw, setRaw] = useState(false);
  return (
    <div class="json-text">
      <div class="json-text-head">
        <Heading>{title}</Heading>
        <fieldset class="segments">
          <legend class="visually-hidden">{title} format</legend>
          <button type="button" aria-pressed={!raw} onClick={() => setRaw(false)}>
            Pretty
          </button>
          <button type="button" aria-pressed={raw} onClick={() => setRaw(true)}>
            Raw
          </button>
        </fieldset>
      </div>
      <div class="code-block">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <pre tabIndex={0} class={raw ? 'wrapped' : ''}>
          <code>{raw ? text : <Pretty text={text} />}</code>
        </pre>
        <CopyButton text={text} label={`Copy ${title.toLowerCase()} as sent`} compact />
      </div>
    </div>
  );
}

function Pretty({ text }: { text: string }) {
  const pieces = layOutJson(text);
  if (pieces === null) return <>{text}</>;
  if (pieces.length > MAX_HIGHLIGHTED) return <>{pieces.map((piece) => piece.text).join('')}</>;
  return (
    <>
      {pieces.map(({ kind, text: piece }, index) =>
        kind === 'layout' ? (
          piece
        ) : (
          <span key={index} class={`json-${kind}`}>
            {piece}
          </span>
        ),
      )}
    </>
  );
}
