import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * Whose work it is: the instance that a timer was set by, or nobody for the work of the database, the network and the simulator
 * itself. Kill: the timers of an instance disappear, and its calls of the database never return. Freeze: its timers wait.
 */
export type Owner = { readonly name: string; isAlive: boolean; frozenUntilMs: number };

const storage = new AsyncLocalStorage<Owner | undefined>();

export function currentOwner(): Owner | undefined {
  return storage.getStore();
}

/** Everything that the work starts, directly or later, is the owner's. */
export function as<Value>(owner: Owner, work: () => Value): Value {
  return storage.run(owner, work);
}

/** Everything that the work starts goes on when the present owner is killed or frozen. */
export function asNobody<Value>(work: () => Value): Value {
  return storage.run(undefined, work);
}

/** For the calls of an instance that has been killed. */
export function never(): Promise<never> {
  return new Promise(() => undefined);
}
