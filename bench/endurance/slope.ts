/** Linear regression of samples over time, with the uncertainty of the slope. */

export type Point = { readonly atS: number; readonly value: number };

export type Slope = {
  readonly first: number;
  readonly last: number;
  readonly mean: number;
  readonly perMinute: number;
  /** Twice the standard error of the slope; a smaller slope may be noise. */
  readonly uncertaintyPerMinute: number;
};

export function slopeOf(points: readonly Point[]): Slope {
  const count = points.length;
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanAt = mean(points.map(({ atS }) => atS));
  const meanValue = mean(points.map(({ value }) => value));
  const spread = points.reduce((sum, { atS }) => sum + (atS - meanAt) ** 2, 0);
  const perSecond = points.reduce((sum, { atS, value }) => sum + (atS - meanAt) * (value - meanValue), 0) / spread;
  const squares = points.reduce(
    (sum, { atS, value }) => sum + (value - meanValue - perSecond * (atS - meanAt)) ** 2,
    0,
  );
  return {
    first: points[0]?.value ?? 0,
    last: points.at(-1)?.value ?? 0,
    mean: meanValue,
    perMinute: perSecond * 60,
    uncertaintyPerMinute: 2 * 60 * Math.sqrt(squares / (count - 2) / spread),
  };
}
