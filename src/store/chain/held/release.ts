import { defaultFinality, finalityText } from '../../../domain/chain/finality.ts';
import { MAX_ROUND } from '../../../domain/ids.ts';
import { readNowMs } from '../../database/clock.ts';
import type { Database, Queries, SqlUuid } from '../../database/database.ts';
import { entityKey, readInteger } from '../../database/sql.ts';
import { CountChanges } from '../../deliveries/counts/counts.ts';
import { wakeHeads } from '../../deliveries/heads.ts';
import { startEventTask } from '../../events/fan-out-task.ts';
import { supersedeAtRelease } from '../../events/order.ts';
import { endOutdated, outdateRetractions } from '../../events/retraction/outdate.ts';
import { queueEvents } from '../../listen/queue-events.ts';
import { eventTable } from '../../tables.ts';

/** A reorg has undone the fact of an event since the event was read, so the event must not be accepted. */
export class FactUndoneError extends Error {
  override readonly name = 'FactUndoneError';
}

/** A held event cannot be released before its current task ends. The events of its entity wait, and other entities continue. */
export class TaskPending extends Error {
  override readonly name = 'TaskPending';

  constructor(readonly entityId: string) {
    super();
  }
}

/** An event whose transaction has the finality of some webhooks. */
export type ReleasedEvent = {
  readonly entityId: string;
  readonly factId: string;
  readonly revision: number;
  readonly event: string;
  readonly finality: string;
  readonly heldNo: SqlUuid;
  readonly agreementId: string | null;
  readonly transferId: string | null;
  readonly seenRevision: number | null;
  readonly ruleAmount: string | null;
};

const heldColumns = eventTable.pick(['deliveries', 'networkId', 'body']);

/** A retraction by the sender has the round 0, and is permanent. A retraction by the network ends when the payment returns. */
const IS_WITHDRAWN = 'outdated_by is not null and retracted_round = 0';

/** The round of the event. A payment that returns is released again in the next round, with new deliveries. */
export function roundOf({ revision }: Pick<ReleasedEvent, 'revision'>): number {
  return Math.min(revision, MAX_ROUND);
}

async function readRevision(queries: Queries, entityId: string): Promise<number> {
  return readInteger(queries, 'revision', 'from entities where id = $1', [entityId]);
}

/**
 * Releases a held event: a task makes its deliveries to the webhooks with this finality, in the round of the fact's revision.
 * Throws `TaskPending` if an earlier task of the event must end first. An event that its sender has retracted gets no deliveries.
 */
export async function release(
  queries: Queries,
  { dialect }: Database,
  held: ReleasedEvent,
  firstDelayMs: number,
): Promise<void> {
  const { entityId, factId, revision, event, finality, heldNo, agreementId, transferId, seenRevision, ruleAmount } =
    held;
  const entity = entityKey(dialect, entityId);
  const stored = await heldColumns.get(
    queries,
    `update events set outdated_by = null where entity_id = $1 and no = $2 and not (${IS_WITHDRAWN})
     returning ${heldColumns.list}`,
    [entity, heldNo],
  );
  const which = 'entity_id = $1 and fact_id = $2 and revision = $3 and event = $4 and finality = $5';
  const key = [entityId, factId, revision, event, finality];
  if (stored === undefined) {
    await queries.run(`delete from fact_events where ${which}`, key);
    return;
  }
  // The retraction of the earlier round ends first, because its deliveries must not follow the deliveries of this round.
  const pending = 'select 1 as found from tasks where entity_id = $1 and subject = $2';
  if ((await queries.get(pending, [entity, heldNo])) !== undefined) throw new TaskPending(entityId);
  const nowMs = await readNowMs(queries, dialect);
  const eventNo = dialect.hexOf(heldNo);
  const changes = new CountChanges(dialect, 'acceptance');
  const outdated = await outdateRetractions(queries, dialect, held, heldNo);
  const released = { event: { entityId, event, agreementId, transferId }, eventNo };
  const promoted = await supersedeAtRelease(queries, dialect, released, { changes, nowMs });
  promoted.push(...(await endOutdated(queries, dialect, outdated, [], nowMs)));
  await wakeHeads(queries, dialect, promoted);
  await changes.write(queries);
  const task = {
    event: { entityId, agreementId, factKey: factId, finality, seenRevision, ruleAmount },
    eventNo,
    round: roundOf(held),
    dueMs: nowMs + firstDelayMs,
    made: stored.deliveries,
    revision: await readRevision(queries, entityId),
    cursor: '0',
  };
  await startEventTask(queries, dialect, { kind: 'release', ...task });
  const noted = await queries.run(`update fact_events set event_no = $6 where ${which}`, [...key, heldNo]);
  if (noted === 0) throw new FactUndoneError();
  // Sessions take an event at the default finality of its kind (`wanted.ts`).
  if (finality !== finalityText(defaultFinality(event))) return;
  const { networkId, body } = stored;
  await queueEvents(queries, dialect, [{ event: { entityId, event, networkId, body }, eventNo }], nowMs);
}
