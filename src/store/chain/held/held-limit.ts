import { DomainError } from '../../../domain/errors.ts';
import type { Dialect, Queries } from '../../database/database.ts';
import { readInteger } from '../../database/sql.ts';
import type { NewEvent } from '../../events/acceptance.ts';
import { findEventNo } from '../../events/event-ids.ts';
import { IS_NOT_FINAL } from '../tables.ts';

/**
 * `ENTITY_HELD_LIMIT`: how many events of an entity may wait for transactions that no block has. Nodes are asked for each such
 * transaction. An event whose transaction was found follows its block, and does not count. Acceptance counts the stored facts in
 * its transaction, so that all instances share the limit. Transactions that run at the same time do not see each other's events,
 * and can exceed the limit by one group each.
 */
export class HeldLimits {
  /** By entity: how many more events it may hold, or null if it may hold all held events of the group. */
  readonly #room = new Map<string, number | null>();

  constructor(
    private readonly queries: Queries,
    private readonly dialect: Dialect,
    private readonly group: readonly NewEvent[],
  ) {}

  /** Why the event cannot be held; undefined if it can, or was accepted before. */
  async rejectionOf({ entityId, eventId, heldLimit = null }: NewEvent): Promise<DomainError | undefined> {
    if (heldLimit === null) return undefined;
    let room = this.#room.get(entityId);
    if (room === undefined) room = await this.#readRoom(entityId, heldLimit);
    const isAccepted = async () =>
      eventId !== null && (await findEventNo(this.queries, this.dialect, entityId, eventId)) !== null;
    if (room === null || (await isAccepted())) return undefined;
    if (room <= 0) return new DomainError('held_limit', { limit: heldLimit });
    this.#room.set(entityId, room - 1);
    return undefined;
  }

  async #readRoom(entityId: string, limit: number): Promise<number | null> {
    const some = `from (select 1 from facts where entity_id = $1 and state = 'waiting' and ${IS_NOT_FINAL} limit ${limit}) waiting`;
    const room = limit - (await readInteger(this.queries, 'count(*)', some, [entityId]));
    const wanted = this.group.filter((event) => event.entityId === entityId && event.heldFor != null).length;
    const left = wanted <= room ? null : room;
    this.#room.set(entityId, left);
    return left;
  }
}
