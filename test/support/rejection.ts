/**
 * The error that a promise rejects with. Used instead of `expect(promise).rejects`, which blocks in the callback that
 * calls it: when the promise is settled by a `setImmediate` of the same tick, as by the SQLite writer, Bun's event loop
 * then sleeps until the next timer fires.
 */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'fulfilled') throw new Error('The promise was fulfilled instead of rejected');
  if (outcome.reason instanceof Error) return outcome.reason;
  throw new Error(`The promise was rejected with something other than an error: ${outcome.reason}`);
}
