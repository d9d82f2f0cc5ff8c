import type { Mutant } from '../mutant.ts';

const LAWS = 'the oracle has fourteen laws';
const DRAWN = 'each operation and fault is drawn';
const FOUR_SEEDS = 'four seeds carry out every frequent operation';
const coverage = (test: string) => ({ file: 'simulation/coverage', test });
const faults = (test: string) => ({ file: 'simulation/faults', test });

/** The simulator itself: its laws, its operations and its faults. */
export const simulator: readonly Mutant[] = [
  {
    name: 'law-is-missing',
    what: 'judges a run of the simulator without one of the laws',
    file: 'test/simulation/oracle/laws.ts',
    find: '...[order, hints, workEnds,',
    replace: '...[order, workEnds,',
    caughtBy: coverage(LAWS),
  },
  {
    name: 'law-looks-at-nothing',
    what: 'compares no two events of an agreement, so that no order is wrong',
    file: 'test/simulation/oracle/laws/order.ts',
    find: 'if (earlier.acceptance.endMs >= later.acceptance.startMs) continue;',
    replace: 'if (earlier.acceptance.endMs >= later.acceptance.startMs || later !== earlier) continue;',
    caughtBy: coverage(FOUR_SEEDS),
  },
  {
    name: 'violation-is-dropped',
    what: 'counts what a law looks at, and forgets the violations',
    file: 'test/simulation/oracle/law.ts',
    find: 'if (!holds) this.violations.push(violation());',
    replace: '',
    caughtBy: coverage('a law that does not hold gives a violation'),
  },
  {
    name: 'broken-run-is-clean',
    what: 'reports a run of the simulator as clean although it breaks a law',
    file: 'test/simulation/report.ts',
    find: 'violations.length + unexpected.length === 0',
    replace: 'unexpected.length === 0 || violations.length > 0',
    caughtBy: coverage('a law that does not hold gives a violation'),
  },
  {
    name: 'operations-are-missing',
    what: 'draws no changes of endpoints in the simulator',
    file: 'test/simulation/operations/table.ts',
    find: '  ...ENDPOINT_ACTIONS,\n',
    replace: '',
    caughtBy: coverage(DRAWN),
  },
  {
    name: 'fault-is-never-drawn',
    what: 'draws no commit without an answer in the simulator',
    file: 'test/simulation/operations/faults.ts',
    find: "'commit-unanswered': { weight: 3,",
    replace: "'commit-unanswered': { weight: 0,",
    caughtBy: coverage(DRAWN),
  },
  {
    name: 'operation-does-nothing',
    what: 'reconciles nothing in the simulator',
    file: 'test/simulation/operations/deliveries.ts',
    find: 'model.reconciliations.push(early);',
    replace: 'if (early.length > 0) model.reconciliations.push(early);',
    caughtBy: coverage(FOUR_SEEDS),
  },
  {
    name: 'retraction-is-never-sent',
    what: 'retracts no event in the simulator',
    file: 'test/simulation/operations/events.ts',
    find: 'const event = draw.pick(retractable);',
    replace: 'const event = draw.pick(retractable.slice(0, 0));',
    caughtBy: coverage(FOUR_SEEDS),
  },
  {
    name: 'fault-is-not-armed',
    what: 'draws faults of the database that no call meets',
    file: 'test/simulation/operations/faults.ts',
    find: 'faults?.arm({',
    replace: 'if (world.nowMs < 0) faults?.arm({',
    caughtBy: coverage(FOUR_SEEDS),
  },
  {
    name: 'killed-instance-lives',
    what: 'lets an instance of the simulator continue after it was killed',
    file: 'test/simulation/fleet/fleet.ts',
    find: 'killed.owner.isAlive = false;',
    replace: '',
    caughtBy: coverage(FOUR_SEEDS),
  },
  {
    name: 'failed-commit-is-stored',
    what: 'commits a transaction whose commit is to fail in the simulator',
    file: 'test/simulation/store/instance-database.ts',
    find: "if (fault?.effect === 'fails') throw new StoreUnavailableError('the commit failed');",
    replace: '',
    caughtBy: faults('stores nothing if a statement or a commit fails'),
  },
  {
    name: 'unanswered-commit-is-answered',
    what: 'answers a commit that is to go without an answer in the simulator',
    file: 'test/simulation/store/instance-database.ts',
    find: "if (isUnanswered) throw new StoreUnavailableError('the commit was not answered');",
    replace: '',
    caughtBy: faults('stores the transaction of a commit without an answer'),
  },
  {
    name: 'killed-transaction-commits',
    what: 'commits the open transaction of an instance that was killed in the simulator',
    file: 'test/simulation/store/instance-database.ts',
    find: `      const value = await work(timedQueries(queries, this.#statements, before));
      this.#requireAlive();`,
    replace: '      const value = await work(timedQueries(queries, this.#statements, before));',
    caughtBy: faults('rolls back the transaction of an instance that was killed'),
  },
  {
    name: 'frozen-instance-works',
    what: 'lets the timers of a frozen instance run in the simulator',
    file: 'test/simulation/world/world.ts',
    find: 'if (owner !== undefined && owner.frozenUntilMs > this.nowMs) {',
    replace: 'if (owner !== undefined && owner.frozenUntilMs < 0) {',
    caughtBy: faults('waits for an instance that is frozen'),
  },
  {
    name: 'clock-is-not-set',
    what: 'notes a step of the clock in the simulator and leaves the clock as it is',
    file: 'test/simulation/operations/faults.ts',
    find: 'world.clockStepMs += byMs;',
    replace: '',
    caughtBy: faults('a fault of the clock sets it by up to an hour'),
  },
  {
    name: 'late-response-counts',
    what: 'responds in time for a receiver that is late in the simulator',
    file: 'test/simulation/fleet/receivers.ts',
    find: "if (mode === 'late') {",
    replace: "if (mode === 'refused') {",
    caughtBy: faults('accepts a request whose sender has given up'),
  },
];
