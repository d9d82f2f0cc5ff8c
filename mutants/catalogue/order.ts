import type { Mutant } from '../mutant.ts';

/** The numbers of an endpoint, the order of its agreements, and what a later event makes pointless. */
export const order: readonly Mutant[] = [
  {
    name: 'number-outside-transaction',
    what: 'takes numbers outside of the transaction, so that one that is rolled back leaves a hole',
    file: 'store/endpoints/sequences.ts',
    find: 'number(members, row.lastSequence - members.length + 1);',
    replace: `const outside = globalThis as unknown as { taken?: Map<string, number> };
      outside.taken ??= new Map();
      const taken = outside.taken.get(\`\${entityId} \${endpointNo}\`) ?? 0;
      outside.taken.set(\`\${entityId} \${endpointNo}\`, taken + members.length);
      number(members, taken + 1);`,
    caughtBy: { file: 'store/deliveries/order/sequence', test: 'leaves no hole where an acceptance is rolled back' },
  },
  {
    name: 'numbers-backwards',
    what: 'numbers the deliveries of one transaction from the last to the first',
    file: 'store/endpoints/sequences.ts',
    find: 'for (const delivery of deliveries) {\n    if (delivery.claim',
    replace: 'for (const delivery of deliveries.toReversed()) {\n    if (delivery.claim',
    caughtBy: { file: 'store/deliveries/order/sequence', test: 'in the order of acceptance' },
  },
  {
    name: 'numbers-not-kept',
    what: 'forgets which deliveries had the numbers of a full block',
    file: 'store/endpoints/sequences.ts',
    find: 'if (isBlock(last)) full.push({ row, ids: last });',
    replace: "if (isBlock(last)) full.push({ row, ids: '' });",
    caughtBy: { file: 'store/endpoints/feed', test: 'whether its delivery waits or is complete' },
  },
  {
    name: 'redelivery-without-number',
    what: 'sends a redelivery without the number of its delivery',
    file: 'store/deliveries/redeliver/redeliver.ts',
    find: '$2, d.ended_at_ms, d.sequence,',
    replace: '$2, d.ended_at_ms, null,',
    caughtBy: { file: 'store/deliveries/order/sequence', test: 'through completion and redelivery' },
  },
  {
    name: 'parked-claimed',
    what: 'sends the next event of an agreement while the one before it is under way',
    file: 'store/events/accept.ts',
    find: 'row.isParked ? null : row.receiver.generation,',
    replace: 'row.receiver.generation,',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'sends the next of an agreement when' },
  },
  {
    name: 'resume-releases-parked',
    what: 'sends what waits for its turn when its webhook is resumed',
    file: 'store/events/accept.ts',
    find: 'row.isParked ? null : row.receiver.generation,',
    replace: 'row.receiver.generation + (row.isParked ? 1 : 0),',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'also while another webhook is resumed' },
  },
  {
    name: 'join-without-lock',
    what: 'sends two events of an agreement at once that two connections accepted at once (PostgreSQL)',
    file: 'store/deliveries/order/order-keys.ts',
    find: `await lockKeys(queries, dialect, keys);
  const taken`,
    replace: 'const taken',
    caughtBy: { file: 'store/deliveries/order/order-races', test: 'has one turn, however many connections' },
  },
  {
    name: 'record-without-lock',
    what: 'leaves an event waiting for ever that was accepted while the one before it ended (PostgreSQL)',
    file: 'store/deliveries/record/record-attempts.ts',
    find: 'if (orderKeys.length > 0) await lockKeys(queries, dialect, orderKeys);',
    replace: '',
    caughtBy: { file: 'store/deliveries/order/order-races', test: 'passes its turn on to what is accepted while' },
  },
  {
    name: 'turn-not-passed-on',
    what: 'forgets the events that wait for one that has ended',
    file: 'store/deliveries/record/record-attempts.ts',
    find: 'orderKeys.length === 0 ? [] : await settleKeys(queries, dialect, orderKeys, nowMs);',
    replace: 'orderKeys.length >= 0 ? [] : await settleKeys(queries, dialect, orderKeys, nowMs);',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'sends the next of an agreement when' },
  },
  {
    name: 'turn-not-told',
    what: 'does not wake the engine for an event that has its turn now',
    file: 'store/deliveries/record/record-attempts.ts',
    find: 'onDue(promoted.map(({ destination }) => destination));',
    replace: '',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'sends the next of an agreement when' },
  },
  {
    name: 'turn-kept-by-redelivery',
    what: 'holds an agreement up until a redelivery of what has arrived is sent',
    file: 'store/deliveries/record/record-one.ts',
    find: "order_key = ${complete === null ? 'order_key' : 'null'}",
    replace: 'order_key = order_key',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'ends the turn of one that arrived' },
  },
  {
    name: 'turn-lost-with-webhook',
    what: 'holds an agreement up for ever when the webhook of its first event is deleted',
    file: 'store/deliveries/cancel.ts',
    find: 'const promoted = await settleKeys(queries, dialect, orderKeys, tools.nowMs);',
    replace: 'const promoted = [] as const;',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'goes on when the webhook of the first was deleted' },
  },
  {
    name: 'order-overtakes-fan-out',
    what: 'sends an event before the task has made the deliveries of an earlier one of its agreement',
    file: 'store/events/order.ts',
    find: 'const fresh = await queueBehindFanOuts(queries, dialect, incoming);',
    replace: 'const fresh = incoming;',
    caughtBy: { file: 'store/deliveries/order/order-keys', test: 'follow the task that makes the deliveries' },
  },
  {
    name: 'supersession-before-lock',
    what: 'looks for the payment before it has the lock that the payment holds (PostgreSQL)',
    file: 'store/deliveries/order/supersede.ts',
    find: 'for (const row of await subjectColumns.all(queries, lockText(chunk.length), values)) {',
    replace: `const before = await subjectColumns.all(
      queries,
      \`select \${subjectColumns.list} from subjects
       where (entity_id, subject) in (values \${valuesList(chunk.length, 2, 0, [dialect.uuid, dialect.uuid])})\`,
      chunk.flatMap(([, { entity, subject }]): SqlValue[] => [entity, subject]),
    );
    await subjectColumns.all(queries, lockText(chunk.length), values);
    for (const row of before) {`,
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'the reminder is never left to be sent' },
  },
  {
    name: 'reminder-after-payment',
    what: 'sends a reminder that comes after the payment',
    file: 'store/deliveries/order/supersede.ts',
    find: 'if (role.onArrival && by !== null)',
    replace: "if (by === '')",
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'a reminder that comes after the payment' },
  },
  {
    name: 'batch-without-supersession',
    what: 'sends the reminder of a payment that is in the same batch',
    file: 'store/events/plan-acceptance.ts',
    find: 'if (known !== undefined && known !== role.kind) return false;',
    replace: '',
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'holds within one batch of events' },
  },
  {
    name: 'superseded-keeps-turn',
    what: 'holds an agreement up behind a reminder that was superseded',
    file: 'store/deliveries/order/supersede.ts',
    find: 'return settleKeys(queries, dialect, keys, nowMs);',
    replace: 'return [];',
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'gives the turn to the payment' },
  },
  {
    name: 'superseded-fan-out-goes-on',
    what: 'makes the rest of the deliveries of a reminder after the payment has come',
    file: 'store/deliveries/order/supersede.ts',
    find: 'await endTask(queries, changes, event);',
    replace: '',
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'ends a reminder for more webhooks than' },
  },
  {
    name: 'superseded-still-counted',
    what: 'counts what was superseded as waiting',
    file: 'store/deliveries/order/supersede.ts',
    find: 'counts.queue(entity, webhookNo, { waiting: -1, retrying: attempts > 0 ? -1 : 0 });',
    replace: '',
    caughtBy: { file: 'store/deliveries/order/supersede', test: 'a payment ends the reminders of the same transfer' },
  },
];
