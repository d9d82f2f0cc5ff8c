import { useRef } from 'preact/hooks';
import type { Coverage } from '../../../../client/webhooks.ts';
import { networkName } from '../../../../domain/networks.ts';
import { Choices } from './choices.tsx';

/** One webhook is registered for each pair of a network and an event. */
export type Chosen = { readonly networkIds: readonly number[]; readonly events: readonly string[] };

type PairsProps = { coverage: Coverage; chosen: Chosen; setChosen: (chosen: Chosen) => void };

/** Offers the networks and events that the server knows, and any other network by its ID. */
export function Pairs({ coverage, chosen, setChosen }: PairsProps) {
  const networks = new Set([...coverage.networks.map(({ networkId }) => networkId), ...chosen.networkIds]);
  const events = new Set([...(coverage.networks[0]?.events.map(({ event }) => event) ?? []), ...chosen.events]);
  const choose = (networkIds: readonly number[]) => setChosen({ ...chosen, networkIds });
  return (
    <div class="pairs">
      <div>
        <Choices
          legend="Networks"
          options={[...networks].map((value) => ({ value, label: networkName(value), note: String(value) }))}
          chosen={chosen.networkIds}
          onChange={choose}
        />
        <OtherNetwork onAdd={(networkId) => choose([...new Set([...chosen.networkIds, networkId])])} />
      </div>
      <Choices
        legend="Events"
        options={[...events].map((value) => ({ value, label: value }))}
        chosen={chosen.events}
        onChange={(chosenEvents) => setChosen({ ...chosen, events: chosenEvents })}
      />
    </div>
  );
}

function OtherNetwork({ onAdd }: { onAdd: (networkId: number) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const add = () => {
    const field = input.current;
    if (field === null || !/^[0-9]+$/.test(field.value)) return;
    onAdd(Number(field.value));
    field.value = '';
  };
  return (
    <div class="other-network">
      <input
        ref={input}
        class="number"
        inputmode="numeric"
        placeholder="Other network ID"
        aria-label="Other network ID"
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          // Enter adds the network instead of submitting the form.
          event.preventDefault();
          add();
        }}
      />
      <button type="button" class="button" onClick={add}>
        Add
      </button>
    </div>
  );
}
