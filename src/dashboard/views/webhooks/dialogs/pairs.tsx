import type { Coverage } from '../../../../client/webhooks.ts';
import { networkName } from '../../../../domain/networks.ts';
import { Choices } from './choices.tsx';
import { OtherNetwork } from './other-network.tsx';

/** One webhook is registered for each pair of a network and an event. */
export type Chosen = { readonly networkIds: readonly number[]; readonly events: readonly string[] };

type PairsProps = {
  coverage: Coverage;
  chosen: Chosen;
  setChosen: (chosen: Chosen) => void;
  /** The ID of another network, as it is typed. */
  typed: string;
  setTyped: (typed: string) => void;
};

/** Offers the networks and events that the server knows, and any other network by its ID. */
export function Pairs({ coverage, chosen, setChosen, typed, setTyped }: PairsProps) {
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
        <OtherNetwork
          value={typed}
          onInput={setTyped}
          onAdd={(networkId) => choose([...new Set([...chosen.networkIds, networkId])])}
        />
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
