import type { Stats } from '../../../client/paybell.ts';

type Deliveries = Pick<Stats['total'], 'delivered' | 'failed'>;
type Attempts = Pick<Stats['total'], 'attempts' | 'failedAttempts'>;

/** The share of completed deliveries that succeeded; null if none has completed. */
export function deliveryRate({ delivered, failed }: Deliveries): number | null {
  return delivered + failed === 0 ? null : delivered / (delivered + failed);
}

/**
 * The share of attempts that succeeded; null if none was made. Deliveries complete after days of retries at worst, so only
 * attempts show an outage while it lasts.
 */
export function attemptRate({ attempts, failedAttempts }: Attempts): number | null {
  return attempts === 0 ? null : (attempts - failedAttempts) / attempts;
}

const percent = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 });
const oneDecimal = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Never rounds up to 100 %, so that a single failure stays visible, and never down to 0 %. */
export function rateText(rate: number | null | undefined): string {
  if (rate === null || rate === undefined) return '–';
  return percent.format(rate === 0 || rate === 1 ? rate : Math.max(0.0001, Math.min(rate, 0.9999)));
}

/** In whole percent, rounded down: a limit that is not reached is never at 100 %. */
export function shareText(used: number, limit: number): string {
  return percent.format(Math.floor(Math.min(1, used / limit) * 100) / 100);
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** In the unit that fits best, such as `1.5 GiB`. */
export function bytesText(bytes: number): string {
  const step = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${oneDecimal.format(bytes / 1024 ** step)} ${UNITS[step]}`;
}
