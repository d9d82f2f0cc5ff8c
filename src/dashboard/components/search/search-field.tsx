import { type ApiProblem, inputError } from '../../api.ts';
import { changeQuery } from '../../router.tsx';
import { TextField } from '../inputs.tsx';
import { useTypedText } from './use-typed-text.ts';

type SearchFieldProps = {
  q: string | undefined;
  payload?: string | null;
  placeholder: string;
  /** While a search is running, typing does not start another search. */
  busy: boolean;
  problem: ApiProblem | null;
};

/**
 * One search field for every kind of text. A new text ends a search in payloads, which the view offers if nothing
 * matches.
 */
export function SearchField({ q, payload = null, placeholder, busy, problem }: SearchFieldProps) {
  const { typed, onInput, onEnd } = useTypedText(payload ?? q ?? '', busy, (text, isRefined) =>
    changeQuery({ q: text, payload: null, page: null }, isRefined ? 'replace' : 'push'),
  );
  return (
    <TextField
      label="Search"
      field="field-grow"
      error={inputError(problem, 'q') ?? inputError(problem, 'payload')}
      type="search"
      placeholder={placeholder}
      maxLength={256}
      spellcheck={false}
      value={typed}
      onInput={(event) => onInput(event.currentTarget.value)}
      onChange={(event) => onEnd(event.currentTarget.value)}
    />
  );
}
