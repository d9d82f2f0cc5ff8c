import type { Migration } from './migration.ts';

/**
 * Deliveries of a fan-out that came to its turn late, and those whose redelivery failed after a long wait, were due before the
 * mark from which claims read their head, and were never claimed. Without the mark, each head is read once from its beginning.
 */
export const forgottenDeliveries: Migration = {
  version: 17,
  name: 'deliveries below the mark of their head',
  statements: ['update queue_heads set from_due_ms = 0, next_due_ms = 0, idle = 0 where blocked = 0'],
};
