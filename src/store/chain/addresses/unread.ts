import type { Queries } from '../../database/database.ts';

/**
 * Tracks the blocks that were not read for all addresses of a book.
 *
 * A poll knows the changes up to `book_read`. It may read new blocks without the addresses that were added since, and even make
 * these blocks final. Such addresses count from `book_from` on. The next poll takes them over, in the transaction that renews the
 * lease: the blocks from `book_from` to the tip must then be read for the source alone. Even if a shop adds addresses all the
 * time, each poll takes over only the addresses since the poll before, and no poll repeats work.
 *
 * | unread                          | written by                   | of addresses                                      |
 * |---------------------------------|------------------------------|---------------------------------------------------|
 * | from `book_from` to the tip     | a change of the book         | changed after `book_read`                         |
 * | from `next_block`, `last_block` | the next poll, a pause, a new definition | changed after `unread_revision`       |
 */

/** Part of the statement that changes a source: $3 is the number of the change, and $4 the first unread block. */
export const NOTE_UNREAD = `book_from = case when book_revision = book_read or book_from > $4 then $4 else book_from end,
  book_revision = $3`;

/** Whether blocks must still be read for the source alone. */
const IS_PENDING = '(last_block is null or next_block <= last_block)';

/** Call it with the row of the network locked, before the sources of the lease are read. Does nothing if no book has changed. */
export async function takeOverUnread(queries: Queries, networkId: number, tip: number | null): Promise<void> {
  const isUnread = 'next_block is not null and book_from <= $2';
  await queries.run(
    `update sources set book_read = book_revision,
       unread_revision = case when ${isUnread} and not ${IS_PENDING} then book_read else unread_revision end,
       next_block = case when ${isUnread} and not (${IS_PENDING} and next_block <= book_from) then book_from else next_block end,
       last_block = case when ${isUnread} and last_block < $2 then $2 else last_block end
     where network_id = $1 and book_revision > book_read`,
    [networkId, tip ?? -1],
  );
}
