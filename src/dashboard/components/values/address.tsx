import { CopyButton } from './copy.tsx';
import { shortText } from './short-text.ts';

/** An account or a hash, shortened in the middle. The tooltip and the button have all of it. */
export function Address({ value, label }: { value: string; label: string }) {
  return (
    <span class="address">
      <code title={value}>{shortText(value)}</code>
      <CopyButton text={value} label={`Copy ${label} ${shortText(value)}`} compact />
    </span>
  );
}
