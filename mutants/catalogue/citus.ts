import type { Mutant } from '../mutant.ts';

/** Workers of Citus that hang. */
export const citus: readonly Mutant[] = [
  {
    name: 'silent-worker-not-refused',
    what: 'sends statements to a worker of Citus that gives no answer, until all connections wait for it',
    file: 'store/database/citus/worker-gate.ts',
    find: `if (this.#state === 'silent') throw new SilentWorkerError(this.name);`,
    replace: '',
    caughtBy: {
      file: 'store/database/citus/gated-database',
      test: 'fails its calls, gives their connections up, and refuses more at once',
    },
  },
  {
    name: 'one-worker-takes-all',
    what: 'lets a worker of Citus that hangs have every connection before it is known to hang',
    file: 'store/database/citus/gated-database.ts',
    find: 'const leave = await worker.slots[kind].enter(this.deadlineMs, entityId);',
    replace: 'const leave = () => undefined;',
    caughtBy: {
      file: 'store/database/citus/gated-database',
      test: 'one worker has no more connections than its slots',
    },
  },
];
