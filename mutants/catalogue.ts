import { acceptance } from './catalogue/acceptance.ts';
import { access } from './catalogue/access.ts';
import { changes } from './catalogue/changes.ts';
import { citus } from './catalogue/citus.ts';
import { claims } from './catalogue/claims.ts';
import { copy } from './catalogue/copy.ts';
import { endpoints } from './catalogue/endpoints.ts';
import { facts } from './catalogue/facts.ts';
import { families } from './catalogue/families.ts';
import { feed } from './catalogue/feed.ts';
import { finality } from './catalogue/finality.ts';
import { jobs } from './catalogue/jobs.ts';
import { listen } from './catalogue/listen.ts';
import { lists } from './catalogue/lists.ts';
import { order } from './catalogue/order.ts';
import { queue } from './catalogue/queue.ts';
import { records } from './catalogue/records.ts';
import { redelivery } from './catalogue/redelivery.ts';
import { requests } from './catalogue/requests.ts';
import { responses } from './catalogue/responses.ts';
import { retention } from './catalogue/retention.ts';
import { simulator } from './catalogue/simulator.ts';
import { solana } from './catalogue/solana.ts';
import { sources } from './catalogue/sources.ts';
import type { Mutant } from './mutant.ts';

/** In the order of the table in faults/RESULTS.md: along the path of an event, then the API and the simulator. */
export const MUTANTS: readonly Mutant[] = [
  ...acceptance,
  ...order,
  ...claims,
  ...records,
  ...changes,
  ...redelivery,
  ...retention,
  ...queue,
  ...citus,
  ...requests,
  ...endpoints,
  ...feed,
  ...listen,
  ...jobs,
  ...access,
  ...finality,
  ...facts,
  ...sources,
  ...families,
  ...solana,
  ...responses,
  ...lists,
  ...copy,
  ...simulator,
];
