import type { SimulatedMutant } from './run.ts';

/** In the order of the laws (`test/simulation/oracle/laws.ts`). */
export const SIMULATED: readonly SimulatedMutant[] = [
  {
    name: 'repeated-event-is-new',
    what: 'delivers an event again that its sender repeats',
    law: 'L1',
    file: 'store/events/accept.ts',
    find: 'const fresh = new Set(possible.filter(({ event }) => event.eventId === null));',
    replace: 'const fresh = new Set(possible);',
  },
  {
    name: 'finality-of-now',
    what: 'compares the finality of an event with the finality that a webhook has now',
    law: 'L4',
    file: 'store/webhooks/option-changes.ts',
    find: 'finality: then[index]?.finality ?? null',
    replace: 'finality: then[index] === undefined ? null : webhook.finality',
  },
  {
    name: 'wanted-finalities-of-now',
    what: 'publishes a payment at the finalities that webhooks have now',
    law: 'L4',
    file: 'store/chain/wanted.ts',
    find: 'if (later.length === 0) return current;',
    replace: 'if (later.length >= 0) return current;',
  },
  {
    name: 'outdated-event-redelivered',
    what: 'sends an event again that was retracted or replaced',
    law: 'L5',
    file: 'store/deliveries/redeliver/redeliver.ts',
    find: 'await rejectOutdated(queries, dialect, entity, id);',
    replace: '',
  },
  {
    name: 'direct-dispatch-without-trace',
    what: 'dispatches a delivery directly without a note that its receiver may have it',
    law: 'L7',
    file: 'store/events/accept.ts',
    find: 'row.leaseMs > 0 ? 1 : 0,',
    replace: '0,',
  },
  {
    name: 'every-retry-is-the-first',
    what: 'counts a delivery as retrying after each of its failures',
    law: 'L11',
    file: 'store/deliveries/record/record-attempts.ts',
    find: 'counts.queue(entityKey(dialect, entityId), webhookNo, { retrying: attempts === 0 ? 1 : 0 });',
    replace: 'counts.queue(entityKey(dialect, entityId), webhookNo, { retrying: attempts === 0 ? 1 : 1 });',
  },
  {
    name: 'deliveries-share-a-number',
    what: 'gives the deliveries of one transaction numbers that others have',
    law: 'L12',
    file: 'store/endpoints/sequences.ts',
    find: 'number(members, row.lastSequence - members.length + 1);',
    replace: 'number(members, row.lastSequence - members.length);',
  },
  {
    name: 'unfinished-event-acknowledged',
    what: 'reconciles an event as acknowledged although deliveries of it are still to be made',
    law: 'L13',
    file: 'store/events/day-book.ts',
    find: "progress.set(no, 'waiting');",
    replace: "if (!progress.has(no)) progress.set(no, 'waiting');",
  },
  {
    name: 'lease-of-the-future',
    what: 'follows no network until the clock has reached a lease from before it was set back',
    law: 'L14',
    file: 'store/chain/networks.ts',
    find: `or lease_ms <= \${db.dialect.nowMs}
           or lease_ms > \${db.dialect.nowMs} + \${LEASE_MS})`,
    replace: `or lease_ms <= \${db.dialect.nowMs})`,
  },
];
