import type { Reconciliation } from '../../../client/events/reconciliations.ts';
import { DecimalSum } from '../../../domain/reconciliation/decimal-sum.ts';
import { countOf, countText } from '../../components/values/count-text.ts';

export type Totals = Reconciliation['totals'][number];

/** The difference in one sentence; null if every event was acknowledged. */
export function differenceText({ events, acknowledged, totals }: Reconciliation): string | null {
  const missing = events - acknowledged;
  if (missing === 0) return null;
  const sent = totals.reduce((sum, row) => sum + row.sent - row.acknowledged, 0);
  const unsent = missing - sent;
  const parts = [
    sent === 0 ? null : `${countOf(sent, 'was', 'were')} sent`,
    unsent === 0 ? null : `${countOf(unsent, 'was', 'were')} not sent`,
  ].filter((part) => part !== null);
  const subject = `${countText(missing)} of ${countOf(events, 'event')}`;
  return `${subject} ${missing === 1 ? 'was' : 'were'} not acknowledged: ${parts.join(', ')}.`;
}

/** Totals with a difference first, each group in the order of the API. */
export function byDifference(totals: readonly Totals[]): Totals[] {
  return [...totals.filter(differs), ...totals.filter((row) => !differs(row))];
}

export function differs({ events, acknowledged }: Totals): boolean {
  return acknowledged < events;
}

/** The sum of the amounts that were not acknowledged, exactly; null if nothing is missing. */
export function missingAmount({ amount, acknowledgedAmount }: Totals): string | null {
  if (amount === acknowledgedAmount) return null;
  const sum = new DecimalSum();
  sum.add(amount);
  sum.add(acknowledgedAmount.startsWith('-') ? acknowledgedAmount.slice(1) : `-${acknowledgedAmount}`);
  return sum.toString();
}
