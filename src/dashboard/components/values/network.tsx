import { networkName } from '../../../domain/networks.ts';
import type { Option } from '../inputs.tsx';

/** A network by its name and its ID in the API. */
export function Network({ networkId }: { networkId: number }) {
  const name = networkName(networkId);
  return (
    <span class="network">
      {name} {name.endsWith(String(networkId)) ? null : <span class="muted number">{networkId}</span>}
    </span>
  );
}

/** The networks to choose from. They include the chosen one even if the server does not know it. */
export function networkOptions(networks: readonly number[], chosen = ''): Option[] {
  const known = networks.map(String);
  const values = chosen === '' || known.includes(chosen) ? known : [...known, chosen];
  return values.map((id) => [id, /^[0-9]+$/.test(id) ? `${networkName(Number(id))} (${id})` : id]);
}
