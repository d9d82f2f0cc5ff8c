import { useRef } from 'preact/hooks';

export type Slots = ReadonlyMap<string, number>;

/**
 * A number for each id: one that stays keeps its own, one that is new takes the lowest that nobody has. Rows with these as
 * keys are written anew instead of being thrown away and made again when a whole page changes at once.
 */
export function takeSlots(before: Slots, ids: readonly string[]): Slots {
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
  slots.current = takeSlots(slots.current, ids);
  return slots.current;
}
