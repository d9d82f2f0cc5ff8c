import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { CopyButton, Curl } from '../../components/values/copy.tsx';
import { urlFor } from '../../router.tsx';

type DigestProps = { reconciliation: Reconciliation; networkId: string };

/** What both sides compare: equal digests are equal books. */
export function Digest({ reconciliation: { day, sha256, acknowledged }, networkId }: DigestProps) {
  return (
    <section class="card digest" aria-labelledby="digest-heading">
      <h2 id="digest-heading">Digest of the acknowledged events</h2>
      <p class="digest-line">
        <code class="exact">{sha256}</code>
        <CopyButton text={sha256} label="Copy SHA-256" />
      </p>
      <p class="hint">
        {acknowledged === 0 ? 'No event was acknowledged: this is the digest of nothing. ' : null}
        Your own list of the day has the same SHA-256 if both books agree. If it does not,{' '}
        <code>
          paybell reconcile --day {day} {networkId === '' ? '' : `--network-id ${networkId} `}yours.csv
        </code>{' '}
        names every difference.
      </p>
      <details>
        <summary>Equivalent API request</summary>
        <Curl path={urlFor('/reconciliation', { day, networkId })} />
      </details>
    </section>
  );
}
