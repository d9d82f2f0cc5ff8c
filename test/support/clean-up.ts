import { afterEach } from 'bun:test';

/** Returns a list that is undone after each test, the last entry first. */
export function cleanUpAfterEach(): (() => unknown)[] {
  const cleanUp: (() => unknown)[] = [];
  afterEach(async () => {
    for (const undo of cleanUp.splice(0).reverse()) await undo();
  });
  return cleanUp;
}
