/** The figures of one measurement. */
export type Sample = Readonly<Record<string, number>>;

export type Subject = { readonly name: string; readonly measure: (round: number) => Promise<Sample> };

export type Rounds = Readonly<Record<string, readonly Sample[]>>;

/** Measures the subjects in alternation, so that other work on the machine affects all alike. A subject may be listed twice. */
export async function interleave(
  subjects: readonly Subject[],
  rounds: number,
  progress: (doing: string) => void,
): Promise<Rounds> {
  const samples = new Map<string, Sample[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const { name, measure } of subjects) {
      progress(`round ${round + 1} of ${rounds}: ${name}`);
      samples.get(name)?.push(await measure(round));
    }
  }
  return Object.fromEntries(samples);
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

export function medianOf(rounds: Rounds, name: string, figure: string): number {
  return median((rounds[name] ?? []).map((sample) => sample[figure] ?? Number.NaN));
}

/** The median of the ratios within each round, in which a slow moment of the machine cancels out. */
export function medianRatio(
  rounds: Rounds,
  subject: string,
  limit: string,
  figure: string,
  figureOfLimit = figure,
): number {
  const limits = rounds[limit] ?? [];
  const ratios = (rounds[subject] ?? []).map(
    (sample, round) => (sample[figure] ?? Number.NaN) / (limits[round]?.[figureOfLimit] ?? Number.NaN),
  );
  return median(ratios);
}
