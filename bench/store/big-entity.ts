import { EVENT_KINDS } from '../../src/domain/event-kinds.ts';
import type { RowRule } from './seed.ts';

/** One entity with a million webhooks, laid out so that every query plan of the list meets its worst case. */

const CLUSTER = 1_500;
const SPREAD = 5_000;
const ORDINARY_NETWORKS = 250;
const [RARE_EVENT, ...COMMON_EVENTS] = EVENT_KINDS.toReversed();

const OLDEST_NETWORK = 9_001;
const MIDDLE_NETWORK = 9_002;
const SPREAD_NETWORK = 9_003;
const FEW_NETWORK = 9_004;
const ORDINARY_NETWORK = 10_000;

/** Networks and events with too many matches to sort all and too few to find soon: clustered at the end or in the middle, or spread. */
export function bigEntityRule(webhooks: number): RowRule {
  const middle = Math.floor(webhooks / 2);
  const quarter = Math.floor(webhooks / 4);
  const third = Math.floor(webhooks / 3);
  const event = COMMON_EVENTS.map((name, at) => `when ${at} then '${name}'`).join(' ');
  return {
    network: `case when w < ${CLUSTER} then ${OLDEST_NETWORK}
      when w between ${middle} and ${middle + CLUSTER - 1} then ${MIDDLE_NETWORK}
      when w between ${third} and ${third + 2} then ${FEW_NETWORK}
      when w % ${Math.max(1, Math.floor(webhooks / SPREAD))} = 7 then ${SPREAD_NETWORK}
      else ${ORDINARY_NETWORK} + w % ${ORDINARY_NETWORKS} end`,
    event: `case when w between ${quarter} and ${quarter + CLUSTER - 1} then '${RARE_EVENT}'
      else case (w / ${ORDINARY_NETWORKS}) % ${COMMON_EVENTS.length} ${event} end end`,
    url: `'https://hooks' || ((w * 7919) % 99991) || '.example.com/paybell/' || w`,
  };
}

const FILTERS: Readonly<Record<string, string>> = {
  'no filter': '',
  'a common event': `&event=${COMMON_EVENTS[0]}`,
  'a rare event': `&event=${RARE_EVENT}`,
  'an ordinary network': `&networkId=${ORDINARY_NETWORK}`,
  'a network of the oldest webhooks': `&networkId=${OLDEST_NETWORK}`,
  'a network in the middle': `&networkId=${MIDDLE_NETWORK}`,
  'a spread network': `&networkId=${SPREAD_NETWORK}`,
  'a network with three webhooks': `&networkId=${FEW_NETWORK}`,
  'a network and an event': `&networkId=${ORDINARY_NETWORK}&event=${COMMON_EVENTS[0]}`,
  'a network without webhooks': '&networkId=77',
};

export type PageCase = { readonly name: string; readonly query: string };

/** Every filter with every sort, at the first page, a quarter in, in the middle, at the last page and past the end. */
export async function pageCases(total: (filter: string) => Promise<number>): Promise<PageCase[]> {
  const cases: PageCase[] = [];
  for (const [filter, query] of Object.entries(FILTERS)) {
    const pages = Math.max(1, Math.floor((await total(query)) / 30));
    const depths = {
      first: 1,
      quarter: Math.ceil(pages / 4),
      middle: Math.ceil(pages / 2),
      last: pages,
      past: pages * 3,
    };
    for (const sort of ['dateCreated', 'postUrl']) {
      for (const dir of ['asc', 'desc']) {
        for (const [depth, page] of Object.entries(depths)) {
          cases.push({
            name: `${filter}, ${sort} ${dir}, ${depth}`,
            query: `${query}&sortBy=${sort}&sortDir=${dir}&page=${page}`,
          });
        }
      }
    }
  }
  return cases;
}
