import type { DeliverySummary } from '../../../client/deliveries.ts';
import { decimalText, shortText } from './short-text.ts';

const DECIMAL = /^-?\d+(\.\d+)?$/;

/** Amount with token, transfer or agreement, and payer of a payload, in one line. */
export function PayloadSummary({ summary }: { summary: DeliverySummary | null }) {
  if (summary === null) return null;
  const { amount, token, agreementId, transferId, payer } = summary;
  const id = transferId ?? agreementId;
  return (
    <span class="payload-summary small">
      {amount === null ? null : (
        <strong class="number">
          {DECIMAL.test(amount) ? decimalText(amount) : amount} {token === null ? '' : shortText(token)}
        </strong>
      )}
      {id === null ? null : <code title={id}>{shortText(id)}</code>}
      {payer === null ? null : (
        <span class="muted payer" title={payer}>
          from {shortText(payer)}
        </span>
      )}
    </span>
  );
}
