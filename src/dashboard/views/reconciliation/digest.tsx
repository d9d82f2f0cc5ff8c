import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { CopyButton } from '../../components/values/copy.tsx';
import { ApiRequests } from '../../components/view/api-requests.tsx';
import { Section } from '../../components/view/section.tsx';
import { urlFor } from '../../router.tsx';

type DigestProps = { reconciliation: Reconciliation; networkId: string };

/** The digest that both sides compare: equal digests mean equal records. */
export function Digest({ reconciliation: { day, endpointId, sha256, acknowledged }, networkId }: DigestProps) {
  return (
    <Section title="Digest of the acknowledged events" isCard class="digest">
      <p class="digest-line">
        <code class="exact">{sha256}</code>
        <CopyButton text={sha256} label="Copy SHA-256" />
      </p>
      <p class="hint">
        {acknowledged === 0 ? 'No event was acknowledged: this is the digest of nothing. ' : null}
        Your own list of the day has the same SHA-256 if both agree. If it does not,{' '}
        <code>
          paybell reconcile --day {day} {networkId === '' ? '' : `--network-id ${networkId} `}
          {endpointId === null ? '' : `--endpoint ${endpointId} `}yours.csv
        </code>{' '}
        names every difference.
      </p>
      <ApiRequests commands={[{ path: urlFor('/reconciliation', { day, networkId, endpointId }) }]} />
    </Section>
  );
}
