import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { Network } from '../../components/values/network.tsx';
import { DASHBOARD_PATHS } from '../../paths.ts';
import { Link, urlFor } from '../../router.tsx';
import { secondsOf } from './days.ts';
import { byDifference, differs, missingAmount, type Totals } from './differences.ts';

const number = new Intl.NumberFormat();

type TableProps = { reconciliation: Reconciliation; busy: boolean };

/** By event kind, network and token, with exact sums: the rows that differ come first. */
export function TotalsTable({ reconciliation: { day, totals }, busy }: TableProps) {
  return (
    <div class="table-frame">
      <table class="table reconciliation" aria-busy={busy}>
        <caption class="visually-hidden">Events of {day} by kind, network and token</caption>
        <thead>
          <tr>
            <th scope="col">Event</th>
            <th scope="col" class="not-phone amount">
              Events
            </th>
            <th scope="col" class="not-phone amount">
              Final
            </th>
            <th scope="col" class="not-phone amount">
              Sent
            </th>
            <th scope="col" class="amount">
              <span class="not-phone">Acknowledged</span>
              <span class="only-phone">Ack.</span>
            </th>
            <th scope="col" class="amount">
              Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {byDifference(totals).map((row) => (
            <Row key={`${row.networkId} ${row.event} ${row.token}`} row={row} day={day} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Row({ row, day }: { row: Totals; day: string }) {
  const { networkId, event, token, events, final, sent, acknowledged } = row;
  return (
    <tr class={differs(row) ? 'reconciliation-differs' : ''}>
      <td>
        <div>
          <strong>{event}</strong>{' '}
          <span class="small">
            <Network networkId={networkId} />
          </span>
        </div>
        {token === null ? <span class="small muted">No token</span> : <TokenName token={token} />}
        {differs(row) ? <ToDeliveries row={row} day={day} /> : null}
      </td>
      <td class="not-phone amount number">{number.format(events)}</td>
      <td class="not-phone amount number">{number.format(final)}</td>
      <td class="not-phone amount number">{number.format(sent)}</td>
      <td class="amount number">
        {number.format(acknowledged)} <span class="only-phone">of {number.format(events)}</span>
        {differs(row) ? <div class="small error-text">{number.format(events - acknowledged)} missing</div> : null}
      </td>
      <Amounts row={row} />
    </tr>
  );
}

function Amounts({ row }: { row: Totals }) {
  const missing = missingAmount(row);
  const { amount, withoutAmount } = row;
  return (
    <td class="amount number exact">
      {amount}
      {missing === null ? null : <div class="small error-text">{missing} missing</div>}
      {withoutAmount === 0 ? null : <div class="small muted">{number.format(withoutAmount)} without an amount</div>}
    </td>
  );
}

function ToDeliveries({ row: { networkId, event }, day }: { row: Totals; day: string }) {
  const range = secondsOf(day);
  return (
    <div class="small">
      <Link to={urlFor(DASHBOARD_PATHS.deliveries, { networkId, event, ...range })}>Show deliveries</Link>
      {' · '}
      <Link to={urlFor(DASHBOARD_PATHS.events, { networkId, event, ...range })}>Show events</Link>
    </div>
  );
}

/** Cut on a phone, where it would take five lines. */
function TokenName({ token }: { token: string }) {
  return (
    <code class="small token" title={token}>
      {token}
    </code>
  );
}
