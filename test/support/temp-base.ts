import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';

/**
 * Where tests put their stores: in memory where there is such a place. What they prove does not depend on the disk, and
 * waiting for it took most of their time.
 */
export function tempBase(): string {
  try {
    accessSync(MEMORY, constants.W_OK);
    return MEMORY;
  } catch {
    return tmpdir();
  }
}
