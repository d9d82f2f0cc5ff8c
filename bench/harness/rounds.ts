/** What one measurement in one round gave. */
export type Sample = Readonly<Record<string, number>>;

export type Subject = { readonly name: string; readonly measure: (round: number) => Promise<Sample> };

export type Rounds = Readonly<Record<string, readonly Sample[]>>;

/** Subject, limit, subject, limit …: whatever else the machine does hits all of them alike. One may be there twice. */
export async function interleave(
  subjects: readonly Subject[],
  rounds: number,
  progress: (done: string) => void,
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

/** The median of the ratios within each round, so that a slow moment of the machine divides out. */
export function medianRatio(rounds: Rounds, subject: string, limit: string, figure: string): number {
  const limits = rounds[limit] ?? [];
  const ratios = (rounds[subject] ?? []).map(
    (sample, round) => (sample[figure] ?? Number.NaN) / (limits[round]?.[figure] ?? Number.NaN),
  );
  return median(ratios);
}
