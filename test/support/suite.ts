/**
 * How thorough a test is in each suite. A file that asks for this runs in both suites: quickly in the short one, and thoroughly
 * in the long one. A file that is run by itself has both engines and few runs.
 */

const { TEST_SUITE } = process.env;

/** The engines of tests above the store. */
export const SUITE_ENGINES: readonly ('sqlite' | 'postgres')[] =
  TEST_SUITE === 'short' ? ['sqlite'] : TEST_SUITE === 'long' ? ['postgres'] : ['sqlite', 'postgres'];

/** The number of runs of a property, or the size of a model. */
export function suiteRuns(inShort: number, inLong: number): number {
  return TEST_SUITE === 'long' ? inLong : inShort;
}
