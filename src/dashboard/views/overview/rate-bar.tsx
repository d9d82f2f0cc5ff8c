import { rateText } from './figures.ts';

const LENGTH = 64;

/**
 * A rate as text and bar. The length of the bar is the rate. It is green only with `isWell`, because a receiver may have
 * worked for most of the time and fail now.
 */
export function RateBar({ rate, isWell }: { rate: number | null; isWell: boolean }) {
  if (rate === null) return <span class="muted">–</span>;
  return (
    <span class="rate">
      <span class="rate-text">{rateText(rate)}</span>
      <svg class="rate-bar" width={LENGTH} height="8" viewBox={`0 0 ${LENGTH} 8`} aria-hidden="true" focusable="false">
        <rect class="rate-track" width={LENGTH} height="8" rx="2" />
        {/* The failed part has at least one pixel, however small it is. */}
        <rect
          class={isWell ? 'rate-good' : 'rate-bad'}
          width={rate === 1 ? LENGTH : Math.min(rate * LENGTH, LENGTH - 1)}
          height="8"
          rx="2"
        />
      </svg>
    </span>
  );
}
