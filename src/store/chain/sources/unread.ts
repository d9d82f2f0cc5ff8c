/** The blocks that must still be read for a source alone, as its row has them. */
type Unread = { readonly nextBlock: number | null; readonly lastBlock: number | null };

/** The first block that must still be read for the source alone; null if there is none. */
export function nextUnread({ nextBlock, lastBlock }: Unread): number | null {
  return nextBlock === null || (lastBlock !== null && nextBlock > lastBlock) ? null : nextBlock;
}

/** The block from which the source must continue if it must read `block` again; null if it has read no block. */
export function nextFrom(row: Unread, block: number): number | null {
  return row.nextBlock === null ? null : Math.min(nextUnread(row) ?? block, block);
}
