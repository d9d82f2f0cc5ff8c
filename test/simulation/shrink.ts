/**
 * Removes items from a list as long as it still fails: first halves of it and then ever smaller parts, and single items again
 * until each of them is needed.
 */
export async function shrink<Item>(
  items: readonly Item[],
  fails: (fewer: readonly Item[]) => Promise<boolean>,
): Promise<readonly Item[]> {
  let best = items;
  for (let size = Math.ceil(best.length / 2); size >= 1; ) {
    const before = best.length;
    for (let from = 0; from < best.length; ) {
      const fewer = [...best.slice(0, from), ...best.slice(from + size)];
      if (await fails(fewer)) best = fewer;
      else from += size;
    }
    if (size > 1) size = Math.ceil(size / 2);
    else if (best.length === before) break;
  }
  return best;
}
