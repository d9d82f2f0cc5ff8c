/** Removes items from a list as long as it still fails, first halves of it and then ever smaller parts. */
export async function shrink<Item>(
  items: readonly Item[],
  fails: (fewer: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let best = items;
  for (let size = Math.ceil(best.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.length; ) {
      const fewer = [...best.slice(0, from), ...best.slice(from + size)];
      if (await fails(fewer)) best = fewer;
      else from += size;
    }
  }
  return best;
}
