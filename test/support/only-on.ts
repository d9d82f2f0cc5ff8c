import { test } from 'bun:test';
import { POSTGRES_ONLY, SQLITE_ONLY } from './requirements.ts';
import type { Engine, TestStore } from './stores.ts';

type OneTest = (name: string, run: () => Promise<void>) => void;

/** `test` for one engine. On the other one the test is skipped, under the same name, and does not count as passed. */
export function onlyOn(engine: Engine, store: Pick<TestStore, 'engine'>): OneTest {
  const tag = engine === 'postgres' ? POSTGRES_ONLY : SQLITE_ONLY;
  return (name, run) => test.skipIf(store.engine !== engine)(`${name} ${tag}`, run);
}
