import { rateText } from './figures.ts';

const LENGTH = 64;

/** A rate as text and bar. What failed is coloured too, so that 0 % is a red bar and not an empty one. */
export function RateBar({ rate }: { rate: number | null }) {
  if (rate === null) return <span class="muted">–</span>;
  const good = rate * LENGTH;
  return (
    <span class="rate">
      <span class="rate-text">{rateText(rate)}</span>
      <svg class="rate-bar" width={LENGTH} height="8" viewBox={`0 0 ${LENGTH} 8`} aria-hidden="true" focusable="false">
        <rect class="rate-bad" width={LENGTH} height="8" rx="2" />
        {/* At least one pixel is left of what failed, however little it is. */}
        <rect class="rate-good" width={rate === 1 ? LENGTH : Math.min(good, LENGTH - 1)} height="8" rx="2" />
      </svg>
    </span>
  );
}
