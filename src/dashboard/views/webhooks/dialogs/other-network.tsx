import { useId } from 'preact/hooks';
import { MAX_NETWORK_ID, networkName } from '../../../../domain/networks.ts';

/** The network id in a text; null if the text is not a network id. */
export function networkIdIn(text: string): number | null {
  const trimmed = text.trim();
  return /^[0-9]{1,16}$/.test(trimmed) && Number(trimmed) <= MAX_NETWORK_ID ? Number(trimmed) : null;
}

type OtherNetworkProps = { value: string; onInput: (value: string) => void; onAdd: (networkId: number) => void };

/** Any network by its ID. A typed number counts even if it was not added, so that registering does not lose it. */
export function OtherNetwork({ value, onInput, onAdd }: OtherNetworkProps) {
  const descriptionId = useId();
  const networkId = networkIdIn(value);
  const isInvalid = value.trim() !== '' && networkId === null;
  const add = () => {
    if (networkId === null) return;
    onAdd(networkId);
    onInput('');
  };
  return (
    <>
      <div class="other-network">
        <input
          class="number"
          inputmode="numeric"
          placeholder="Other network ID"
          aria-label="Other network ID"
          aria-describedby={descriptionId}
          aria-invalid={isInvalid}
          value={value}
          onInput={(event) => onInput(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return;
            // Enter adds the network instead of submitting the form.
            event.preventDefault();
            add();
          }}
        />
        <button type="button" class="button" disabled={networkId === null} onClick={add}>
          Add
        </button>
      </div>
      <p id={descriptionId} class={isInvalid ? 'hint error-text' : 'hint'}>
        {isInvalid
          ? 'A network ID is a whole number, such as 8453. Correct or clear it to register.'
          : networkId === null
            ? ''
            : `${networkName(networkId)} is registered too.`}
      </p>
    </>
  );
}
