import { type ExplorerPage, explorerUrl } from '../../../domain/networks.ts';
import { CopyButton } from './copy.tsx';
import { shortText } from './short-text.ts';

type AddressProps = {
  value: string;
  label: string;
  /** Links to this page of the network's explorer, if there is one. */
  on?: { networkId: number; page: ExplorerPage };
};

/** An account or a hash, shortened in the middle. The tooltip and the button have the whole text. */
export function Address({ value, label, on }: AddressProps) {
  const url = on === undefined ? null : explorerUrl(on.networkId, on.page, value);
  const text = <code title={value}>{shortText(value)}</code>;
  return (
    <span class="address">
      {url === null ? (
        text
      ) : (
        <a href={url} target="_blank" rel="noopener noreferrer">
          {text}
        </a>
      )}
      <CopyButton text={value} label={`Copy ${label} ${shortText(value)}`} compact />
    </span>
  );
}
