import { networkName } from '../../../domain/networks.ts';

/** A network by its name and its ID in the API. */
export function Network({ networkId }: { networkId: number }) {
  const name = networkName(networkId);
  return (
    <span class="network">
      {name} {name.endsWith(String(networkId)) ? null : <span class="muted number">{networkId}</span>}
    </span>
  );
}

/** The options of a select. They include the chosen network even if the server does not know it. */
export function NetworkOptions({ networks, chosen }: { networks: readonly number[]; chosen: string }) {
  const known = networks.map(String);
  const values = chosen === '' || known.includes(chosen) ? known : [...known, chosen];
  return (
    <>
      {values.map((value) => (
        <option key={value} value={value}>
          {/^[0-9]+$/.test(value) ? `${networkName(Number(value))} (${value})` : value}
        </option>
      ))}
    </>
  );
}
