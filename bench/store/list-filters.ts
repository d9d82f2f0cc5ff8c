import { BROKEN, BUSIEST, DAY_MS, EVENTS, type Filled, QUIET, webhookId } from './many-deliveries.ts';

/** Every filter of the lists of deliveries and events, alone and in the combinations that the dashboard makes, in every order. */

type Query = Readonly<Record<string, string>>;
export type Case = { readonly list: 'deliveries' | 'events'; readonly name: string; readonly query: Query };

function filters({ firstMs, endMs }: Filled): Readonly<Record<string, Query>> {
  const at = (ms: number) => String(Math.floor(ms / 1000));
  const anHour = { since: at(endMs - DAY_MS - 1_800_000), until: at(endMs - DAY_MS + 1_800_000) };
  const aWeek = { since: at(endMs - 10 * DAY_MS + 12_345_000), until: at(endMs - 3 * DAY_MS + 12_345_000) };
  const ofEvent = { event: EVENTS[1] ?? '' };
  const ofNetwork = { networkId: '137' };
  const busiest = { webhookId: webhookId(BUSIEST) };
  const broken = { webhookId: webhookId(BROKEN) };
  const quiet = { webhookId: webhookId(QUIET) };
  const all: Record<string, Query> = {
    'no filter': {},
    'the busiest webhook': busiest,
    'the broken webhook': broken,
    'a quiet webhook': quiet,
    'a webhook that does not exist': { webhookId: 'wh_none' },
    'an event kind': ofEvent,
    'the busiest event kind': { event: EVENTS[0] ?? '' },
    'a network': ofNetwork,
    'the busiest network': { networkId: '1' },
    'a network and an event kind': { ...ofNetwork, ...ofEvent },
    'an hour': anHour,
    'a week': aWeek,
    'since an hour after the first': { since: at(firstMs + 3_600_000) },
    'an hour of the busiest webhook': { ...busiest, ...anHour },
    'a week of the busiest webhook': { ...busiest, ...aWeek },
    'a week of a network': { ...ofNetwork, ...aWeek },
    'a week of a network and an event kind': { ...ofNetwork, ...ofEvent, ...aWeek },
  };
  all.superseded = { status: 'superseded' };
  for (const status of ['delivered', 'failed', 'cancelled', 'pending', 'retrying', 'held']) {
    all[status] = { status };
    all[`${status}, the busiest webhook`] = { status, ...busiest };
    all[`${status}, the broken webhook`] = { status, ...broken };
    all[`${status}, a quiet webhook`] = { status, ...quiet };
    all[`${status}, a network`] = { status, ...ofNetwork };
    all[`${status}, an event kind`] = { status, ...ofEvent };
    all[`${status}, an hour`] = { status, ...anHour };
    all[`${status}, a week`] = { status, ...aWeek };
    all[`${status}, a week of the busiest webhook`] = { status, ...busiest, ...aWeek };
    all[`${status}, a week of a network`] = { status, ...ofNetwork, ...aWeek };
  }
  return all;
}

const EVENT_PARAMETERS = ['event', 'networkId', 'since', 'until'];

export function cases(filled: Filled): Case[] {
  return Object.entries(filters(filled)).flatMap(([name, query]) => {
    const given: Case[] = [
      { list: 'deliveries', name, query },
      { list: 'deliveries', name: `${name}, oldest first`, query: { ...query, sortDir: 'asc' } },
      {
        list: 'deliveries',
        name: `${name}, by next attempt`,
        query: { ...query, sortBy: 'dateNextAttempt', sortDir: 'asc' },
      },
      {
        list: 'deliveries',
        name: `${name}, by next attempt, last first`,
        query: { ...query, sortBy: 'dateNextAttempt' },
      },
    ];
    const isForEvents = Object.keys(query).every((parameter) => EVENT_PARAMETERS.includes(parameter));
    return isForEvents ? [...given, { list: 'events', name: `events: ${name}`, query }] : given;
  });
}
