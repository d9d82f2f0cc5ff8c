import type { Config } from '../../config.ts';
import { shareOfCap } from '../../delivery/queue/fleet-share.ts';
import type { Database } from '../../store/database/database.ts';
import { readInstances } from '../../store/instances.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** The running instances, with the share of each in DESTINATION_CONCURRENCY. */
export async function checkInstances(db: Database, { DESTINATION_CONCURRENCY: cap }: Config): Promise<Finding> {
  const running = await readInstances(db);
  if (running.length === 0) return ok('instances', 'none is running');
  const delivering = running.filter(({ delivers }) => delivers).length;
  const found = `${running.length} running, ${delivering} of them deliver`;
  if (delivering === 0) {
    return warning('instances', found, 'Start an instance with ROLE all or delivery: nothing is sent without one.');
  }
  const share = `${found}, each with at most ${shareOfCap(cap, delivering)} concurrent attempts to one destination`;
  if (delivering <= cap) return ok('instances', share);
  const fix = `Only ${cap} of the instances send to one destination, because DESTINATION_CONCURRENCY (${cap}) is below their number. Events that other instances accept wait to be claimed. Let fewer instances deliver, or raise DESTINATION_CONCURRENCY.`;
  return warning('instances', share, fix);
}

/** Whether the workers of the running instances work, according to the reports of these instances. */
export async function checkWorkers(db: Database): Promise<Finding> {
  const running = await readInstances(db);
  const failing = running.flatMap(({ host, problem }) => (problem === null ? [] : `${host}: ${problem}`));
  if (failing.length === 0) return ok('workers', 'none is failing');
  const fix = 'The log of that instance has every failure. Until the cause is gone, its /readyz returns 503.';
  return failure('workers', failing.join('; '), fix);
}
