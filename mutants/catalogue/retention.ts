import type { Mutant } from '../mutant.ts';

/** Removing what is old: never what waits, and nothing twice. */
export const retention: readonly Mutant[] = [
  {
    name: 'retention-of-wanted-events',
    what: 'removes the events of deliveries that are still to be sent',
    file: 'store/deliveries/retention/old-events.ts',
    find: 'const free = rows.filter(({ no }) => !wanted.has(hexOf(no)));',
    replace: 'const free = rows;',
    caughtBy: { file: 'store/deliveries/retention', test: 'an event stays as long as one of its deliveries does' },
  },
  {
    name: 'retention-ignores-queue',
    what: 'keeps an event for its record, and not for its queue',
    file: 'store/deliveries/retention/old-events.ts',
    find: "[hasTask, inRange('queue'), ...(dryRun",
    replace: '[hasTask, ...(dryRun',
    caughtBy: { file: 'store/deliveries/retention', test: 'settled ones go with their attempts and events' },
  },
  {
    name: 'retention-without-second-look',
    what: 'takes deliveries from the counters that another instance has removed before',
    file: 'store/deliveries/retention/old-deliveries.ts',
    find: `for (const row of rows) {
      const change = { created: -1,`,
    replace: `for (const row of chunk) {
      const change = { created: -1,`,
    caughtBy: { file: 'store/deliveries/retention', test: 'two instances that found the same' },
  },
  {
    name: 'retention-of-events-without-second-look',
    what: 'takes events from the counters that another instance has removed before',
    file: 'store/deliveries/retention/old-events.ts',
    find: 'const removed = chunk.filter(({ no }) => deleted.has(dialect.hexOf(no)));',
    replace: 'const removed = chunk;',
    caughtBy: { file: 'store/deliveries/retention', test: 'two instances that found the same' },
  },
  {
    name: 'retention-counts-nothing',
    what: 'leaves removed deliveries in the totals',
    file: 'store/deliveries/retention/old-deliveries.ts',
    find: 'const change = { created: -1, [statusOfCode(row.status)]: -1 };',
    replace: 'const change = { created: -1 };',
    caughtBy: { file: 'store/deliveries/retention', test: 'two instances that found the same' },
  },
  {
    name: 'retention-by-own-clock',
    what: 'removes by the clock of the process, which may be ahead',
    file: 'store/deliveries/retention/retention.ts',
    find: 'options.nowMs ?? (await readNowMs(db, db.dialect))',
    replace: 'options.nowMs ?? Date.now()',
    caughtBy: {
      file: 'store/deliveries/retention',
      test: 'without a clock of its own it goes by that of the database',
    },
  },
  {
    name: 'retention-keeps-attempts',
    what: 'leaves the attempts of removed deliveries behind',
    file: 'store/deliveries/retention/old-deliveries.ts',
    find: 'await remove(`attempts where entity_id = $1 and delivery_id in ${list}`, STORED_BYTES.attempt);',
    replace: '',
    caughtBy: { file: 'store/deliveries/retention', test: 'settled ones go with their attempts and events' },
  },
  {
    name: 'dry-run-removes',
    what: 'removes deliveries in a dry run',
    file: 'store/deliveries/retention/old-deliveries.ts',
    find: 'const gone = dryRun ? old : await',
    replace: 'const gone = await',
    caughtBy: { file: 'store/deliveries/retention', test: 'a dry run counts exactly what the real one then removes' },
  },
];
