import { expect, test } from 'bun:test';
import { mutated } from '../../faults/harness/mutation.ts';
import { throughTakeovers } from '../../faults/trials/chain/takeovers.ts';

test('the trial of two followers finds a store that does not check the token of a late write', async () => {
  const settings = mutated('store/chain/commit.ts', 'and token = $2', 'and token >= $2');
  const options = { engine: 'postgres', trials: 2, fast: true, progress: () => undefined } as const;
  // Whether the process that is paused was about to write is up to the machine.
  let violations: readonly string[] = [];
  for (let run = 0; run < 5 && violations.length === 0; run++) {
    violations = (await throughTakeovers(options, settings)).violations;
  }
  expect(violations.join()).toContain('told by a process whose lease had ended');
});
