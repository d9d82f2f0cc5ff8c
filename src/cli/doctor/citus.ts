import type { Database } from '../../store/database/database.ts';
import { DISTRIBUTED, findUnreachableWorkers, readCitus } from '../../store/database/distribution.ts';
import { PAYBELL } from '../terminal/invocation.ts';
import { type Finding, failure, ok, warning } from './finding.ts';

/** Null on a server without Citus. */
export async function checkCitus(db: Database): Promise<Finding | null> {
  const citus = await readCitus(db);
  if (citus === null) return null;
  const { version, workers, distributed } = citus;
  const found = `version ${version}, ${workers.length} workers`;
  const inactive = workers.filter(({ isActive }) => !isActive).map(({ name }) => name);
  if (inactive.length > 0) {
    const fix =
      'Activate each of them with "select citus_activate_node(…)": tables on an inactive worker cannot be written.';
    return failure('citus', `${found}, not active: ${inactive.join(', ')}`, fix);
  }
  const unreachable = await findUnreachableWorkers(db);
  if (unreachable.length > 0) {
    const fix = 'Start them again: until then their entities get 503, and no entity or webhook can be created.';
    return failure('citus', `${found}, not reachable: ${unreachable.join(', ')}`, fix);
  }
  const missing = DISTRIBUTED.filter((table) => !distributed.has(table));
  if (missing.length === 0) return ok('citus', `${found}, every table is distributed`);
  const fix = `Stop every instance, then: ${PAYBELL} migrate --distribute`;
  return warning('citus', `${found}, tables that are not distributed: ${missing.join(', ')}`, fix);
}
