import type { Mutant } from '../mutant.ts';

/** Lists and totals. */
export const lists: readonly Mutant[] = [
  {
    name: 'webhooks-of-all-entities',
    what: 'lists the webhooks of other entities',
    file: 'store/webhooks/list-snapshot.ts',
    find: 'from webhooks where entity_id = $1 order by post_url, id',
    replace: "from webhooks where $1 <> '' order by post_url, id",
    caughtBy: { file: 'store/webhooks/list-model', test: 'equals what a plain array gives, also after more were' },
  },
  {
    name: 'webhook-by-id-of-all-entities',
    what: 'finds the webhook of another entity by the filter webhookId',
    file: 'store/webhooks/list.ts',
    find: 'webhookTable.where(parameters, { entityId, webhookId, networkId, event });',
    replace: 'webhookTable.where(parameters, { webhookId, networkId, event });',
    caughtBy: { file: 'api/auth/foreign-ids', test: 'is found by no filter' },
  },
  {
    name: 'deliveries-of-all-entities',
    what: 'lists the deliveries of other entities',
    file: 'store/deliveries/list/scope.ts',
    find: '[`${alias}.entity_id = ${parameters.bind(scope.entity)}`]',
    replace: '[`${parameters.bind(scope.entity)} is not null`]',
    caughtBy: { file: 'api/routes/events/equal-event-ids', test: 'shows each its own deliveries, to its own webhook' },
  },
  {
    name: 'events-of-all-entities',
    what: 'lists the events of other entities',
    file: 'store/events/read.ts',
    find: '[`entity_id = ${parameters.bind(entity)}`]',
    replace: '[`${parameters.bind(entity)} is not null`]',
    caughtBy: { file: 'api/routes/events/read', test: 'of another entity are not there' },
  },
  {
    name: 'retrying-filter-too-wide',
    what: 'lists what was never tried as retrying',
    file: 'store/deliveries/list/sources.ts',
    find: "attempts: 'q.attempts > 0'",
    replace: "attempts: 'q.attempts >= 0'",
    caughtBy: { file: 'store/deliveries/read', test: 'of thousands equals the same on every page' },
  },
  {
    name: 'cancelled-filter-too-narrow',
    what: 'does not list what is cancelled until the sweep has recorded it',
    file: 'store/deliveries/list/sources.ts',
    find: "  cancelled: { heads: 'deleted' },\n",
    replace: '',
    caughtBy: { file: 'store/deliveries/states', test: 'is cancelled when its webhook is deleted' },
  },
  {
    name: 'page-from-wrong-end',
    what: 'shows the last pages of a list backwards',
    file: 'store/webhooks/list.ts',
    find: 'return backwards ? webhooks.reverse() : webhooks;',
    replace: 'return webhooks;',
    caughtBy: { file: 'store/webhooks/list-model', test: 'equals what a plain array gives on every page, from either' },
  },
  {
    name: 'total-without-cut-buckets',
    what: 'leaves out of a total what is in the first hour of its range',
    file: 'store/events/read.ts',
    find: 'if (sinceMs !== null) total += await',
    replace: 'if (sinceMs !== null) await',
    caughtBy: { file: 'api/routes/events/read', test: 'are counted in ranges that begin or end within an hour' },
  },
];
