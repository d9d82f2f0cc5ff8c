import { accessSync, constants } from 'node:fs';
import { tmpdir } from 'node:os';

const MEMORY = '/dev/shm';

/**
 * The folder for the stores of tests, in memory where possible: the tests do not depend on the disk, and waiting for it
 * took most of their time. `TEST_TEMP` names another, for runs that remove it as a whole.
 */
export function tempBase(): string {
  const { TEST_TEMP } = process.env;
  if (TEST_TEMP) return TEST_TEMP;
  try {
    accessSync(MEMORY, constants.W_OK);
    return MEMORY;
  } catch {
    return tmpdir();
  }
}
