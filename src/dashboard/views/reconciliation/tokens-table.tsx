import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { type Column, DataTable, type NarrowSize } from '../../components/lists/data-table.tsx';
import { countOf } from '../../components/values/count-text.ts';
import { Network } from '../../components/values/network.tsx';
import { Section } from '../../components/view/section.tsx';
import { sumColumn, TokenName, WithoutAmount } from './totals-table.tsx';

type Sums = Reconciliation['tokens'][number];

/** The payments with a block of the day: the sums on the network, and the sums that receivers have. */
export function TokensTable({ reconciliation: { day, tokens, undatedPayments } }: { reconciliation: Reconciliation }) {
  if (tokens.length === 0 && undatedPayments === 0) return null;
  return (
    <Section title="Payments by token" class="tokens-section">
      <p class="hint">
        Payments with a block of this day. Net is the sum of sent payments minus retracted ones. It equals the chain
        once all payments are final and sent.
      </p>
      {undatedPayments === 0 ? null : (
        <p class="hint">These sums leave out {countOf(undatedPayments, 'payment')} whose date no node stated.</p>
      )}
      {tokens.length === 0 ? null : (
        <DataTable
          name="reconciliation"
          caption={`Payments of ${day} by network and token`}
          columns={COLUMNS}
          rows={tokens}
          keyOf={({ networkId, token }) => `${networkId} ${token}`}
          rowClass={(sums) => (needsAttention(sums) ? 'row-bad' : '')}
        />
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<Sums>[] = [
  {
    name: 'token',
    header: 'Token',
    width: 'rest',
    cell: ({ networkId, token }) => (
      <>
        <div class="small">
          <Network networkId={networkId} />
        </div>
        <TokenName token={token} />
      </>
    ),
  },
  exactColumn('chain', 'On chain', ({ onChain, missing, withoutAmount }) => (
    <>
      {onChain}
      {missing === '0' ? null : <div class="small error-text">{missing} without an event</div>}
      <WithoutAmount count={withoutAmount} />
    </>
  )),
  exactColumn('sent', 'Sent', ({ sent }) => sent, 'small'),
  exactColumn('acknowledged', 'Acknowledged', ({ acknowledged }) => acknowledged, 'medium'),
  exactColumn('retracted', 'Retracted', ({ retracted }) => retracted, 'medium'),
  exactColumn('net', 'Net', ({ net, unacknowledgedRetractions }) => (
    <>
      {net}
      {unacknowledgedRetractions === '0' ? null : (
        <div class="small error-text">{unacknowledgedRetractions} retracted, not acknowledged</div>
      )}
    </>
  )),
];

function exactColumn(name: string, header: string, cell: Column<Sums>['cell'], below?: NarrowSize): Column<Sums> {
  return sumColumn(name, header, (sums) => <div class="exact">{cell(sums)}</div>, below);
}

function needsAttention({ missing, unacknowledgedRetractions }: Sums): boolean {
  return missing !== '0' || unacknowledgedRetractions !== '0';
}
