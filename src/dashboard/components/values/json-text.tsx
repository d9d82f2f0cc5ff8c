import { useState } from 'preact/hooks';
import { layOutJson } from '../../../domain/json-layout.ts';
import { CopyButton } from './copy.tsx';

/** Beyond this many pieces colour costs more than it helps. */
const MAX_COLOURED = 2_000;

/** A text of JSON as a person reads it, or byte for byte as it is sent. What is copied is always the latter. */
export function JsonText({ text, what }: { text: string; what: string }) {
  const [raw, setRaw] = useState(false);
  return (
    <div class="json-text">
      <div class="json-text-head">
        <h3>{what}</h3>
        <fieldset class="segments">
          <legend class="visually-hidden">How to show the {what.toLowerCase()}</legend>
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
        <CopyButton text={text} label={`Copy the ${what.toLowerCase()} as it is sent`} compact />
      </div>
    </div>
  );
}

function Pretty({ text }: { text: string }) {
  const pieces = layOutJson(text);
  if (pieces === null) return <>{text}</>;
  if (pieces.length > MAX_COLOURED) return <>{pieces.map((piece) => piece.text).join('')}</>;
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
