/**
 * What a promise fails with. In place of `expect(promise).rejects`, which waits inside of the callback that asks: where
 * the answer comes by a `setImmediate` of the same round, as from the store's writer, Bun's event loop sleeps on until
 * some timer wakes it.
 */
export async function rejection(promise: Promise<unknown>): Promise<Error> {
  const [outcome] = await Promise.allSettled([promise]);
  if (outcome.status === 'fulfilled') throw new Error('it was to fail, and did not');
  if (outcome.reason instanceof Error) return outcome.reason;
  throw new Error(`it failed with something that is no error: ${outcome.reason}`);
}
