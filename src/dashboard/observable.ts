import { useEffect, useState } from 'preact/hooks';

/** One value that several components show: set it anywhere, and whoever uses it is drawn again. */
export type Store<Value> = {
  readonly get: () => Value;
  readonly set: (value: Value) => void;
  readonly subscribe: (listener: () => void) => () => void;
};

export function createStore<Value>(initial: Value): Store<Value> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

export function useStore<Value>(store: Store<Value>): Value {
  const [, redraw] = useState(0);
  useEffect(() => {
    const drawn = store.get();
    const stop = store.subscribe(() => redraw((count) => count + 1));
    // It may have changed between the drawing and this effect.
    if (!Object.is(drawn, store.get())) redraw((count) => count + 1);
    return stop;
  }, [store]);
  return store.get();
}
