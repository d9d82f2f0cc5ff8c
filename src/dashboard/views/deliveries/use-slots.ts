import { useRef } from 'preact/hooks';

export type Slots = ReadonlyMap<string, number>;

/**
 * Assigns a number to each ID: IDs that stay keep their numbers, and new IDs take the lowest free numbers. With these
 * numbers as component keys, rows are updated in place instead of being removed and recreated when a whole page
 * changes.
 */
export function assignSlots(before: Slots, ids: readonly string[]): Slots {
  const taken = new Set(ids.flatMap((id) => before.get(id) ?? []));
  let next = 0;
  const nextFree = (): number => {
    while (taken.has(next)) next++;
    return next++;
  };
  return new Map(ids.map((id) => [id, before.get(id) ?? nextFree()]));
}

export function useSlots(ids: readonly string[]): Slots {
  const slots = useRef<Slots>(new Map());
  slots.current = assignSlots(slots.current, ids);
  return slots.current;
}
