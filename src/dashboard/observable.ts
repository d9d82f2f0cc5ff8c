import { useLayoutEffect, useState } from 'preact/hooks';

/** A value shared by components: setting it re-renders every component that uses it. */
export type Observable<Value> = {
  readonly get: () => Value;
  readonly set: (value: Value) => void;
  readonly subscribe: (listener: () => void) => () => void;
};

export function createObservable<Value>(initial: Value): Observable<Value> {
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

export function useObservable<Value>(observable: Observable<Value>): Value {
  const [, rerender] = useState(0);
  const rendered = observable.get();
  useLayoutEffect(() => {
    const unsubscribe = observable.subscribe(() => rerender((count) => count + 1));
    // Another component may have changed the value between this render and the subscription.
    if (!Object.is(rendered, observable.get())) rerender((count) => count + 1);
    return unsubscribe;
  }, [observable]);
  return rendered;
}
