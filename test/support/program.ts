import { resolve } from 'node:path';

const { TEST_EXECUTABLE } = process.env;

export const SOURCE: readonly string[] = [process.execPath, resolve(import.meta.dir, '../../src/main.ts')];

/**
 * The program that tests start as a process: the executable that `npm test` builds once, or the source if a test file runs by
 * itself. The executable starts with a third of the CPU time.
 */
export const PROGRAM = TEST_EXECUTABLE === undefined ? SOURCE : [TEST_EXECUTABLE];
