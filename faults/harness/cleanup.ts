/** The processes, servers and mounted disks that have to be removed when a run is interrupted. */

const open: AsyncDisposable[] = [];

export function registerCleanup(resource: AsyncDisposable): void {
  open.push(resource);
}

export function unregisterCleanup(resource: AsyncDisposable): void {
  const index = open.indexOf(resource);
  if (index >= 0) open.splice(index, 1);
}

/** In reverse order, since a resource may use those that were opened before it. */
export async function cleanUpAll(): Promise<void> {
  for (const resource of open.splice(0).reverse()) await resource[Symbol.asyncDispose]();
}
