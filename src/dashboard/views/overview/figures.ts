import type { Stats } from '../../../client/paybell.ts';

type Counts = Pick<Stats['total'], 'delivered' | 'failed'>;

/** The share of completed deliveries that succeeded; null if none has completed. */
export function successRate({ delivered, failed }: Counts): number | null {
  return delivered + failed === 0 ? null : delivered / (delivered + failed);
}

const number = new Intl.NumberFormat();
const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 });

export function countText(count: number | null | undefined): string {
  return count === null || count === undefined ? '–' : number.format(count);
}

/** Never rounds up to 100 %, so that a single failure stays visible. */
export function rateText(rate: number | null | undefined): string {
  if (rate === null || rate === undefined) return '–';
  return percent.format(rate === 1 ? 1 : Math.min(rate, 0.9999));
}
