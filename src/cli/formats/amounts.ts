import { showCount } from '../../domain/errors.ts';

const BYTE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const;

/** With at most three significant digits. */
export function showBytes(bytes: number): string {
  if (bytes < 1024) return showCount(bytes, 'byte');
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} ${BYTE_UNITS[unit]}`;
}

const DURATION_UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const;

/** In the largest unit that fits, rounded down. */
export function showDuration(ms: number): string {
  const [unit, unitMs] = DURATION_UNITS.find(([, size]) => ms >= size) ?? (['ms', 1] as const);
  return `${Math.floor(ms / unitMs)} ${unit}`;
}
