import { useEffect, useRef, useState } from 'preact/hooks';

/** Typing pauses for longer than this only at the end of a text. */
const PAUSE_MS = 350;

/** Shorter texts match too much, or nothing. */
const MIN_CHARS = 3;

type TypedText = {
  readonly typed: string;
  readonly onInput: (text: string) => void;
  /** Searches at once. */
  readonly onEnd: (text: string) => void;
};

/**
 * The text of a field that searches while someone types: after a pause, and not before the last search is done.
 * `searched` is what the URL has, which may change without the field. `isRefined`: the search continues a search that
 * typing had started.
 */
export function useTypedText(
  searched: string,
  busy: boolean,
  search: (text: string, isRefined: boolean) => void,
): TypedText {
  const [typed, setTyped] = useState(searched);
  const own = useRef(searched);
  const newest = useRef(searched);
  const text = typed.trim();
  const find = (wanted: string, isTyping: boolean) => {
    if (wanted === own.current) return;
    const isRefined = isTyping && own.current !== '';
    own.current = wanted;
    search(wanted, isRefined);
  };

  // Does not put back a text that this field has searched for, because someone may have typed more since then.
  useEffect(() => {
    if (searched === own.current) return;
    own.current = searched;
    newest.current = searched;
    setTyped(searched);
  }, [searched]);

  useEffect(() => {
    if (busy || text.length < MIN_CHARS) return;
    const timer = setTimeout(() => newest.current.trim() === text && find(text, true), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text, busy]);

  const onInput = (value: string) => {
    newest.current = value;
    setTyped(value);
    // The button of the browser that empties the field changes it without an end of the input.
    if (value === '') find('', false);
  };
  return { typed, onInput, onEnd: (value) => find(value.trim(), false) };
}
