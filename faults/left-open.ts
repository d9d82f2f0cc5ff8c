/** What would outlive a trial that is interrupted: processes, servers, mounted disks. */

const open: AsyncDisposable[] = [];

export function noteOpened(thing: AsyncDisposable): void {
  open.push(thing);
}

export function noteClosed(thing: AsyncDisposable): void {
  const index = open.indexOf(thing);
  if (index >= 0) open.splice(index, 1);
}

/** The last first, as each stands on those before it. */
export async function closeAll(): Promise<void> {
  for (const thing of open.splice(0).reverse()) await thing[Symbol.asyncDispose]();
}
