import { afterAll, setDefaultTimeout } from 'bun:test';
import { stopPostgres } from './postgres.ts';

/**
 * No test may fail because the machine is slow, and a test that is stuck ends. Bun applies this to the first file of a process;
 * the runner's `--timeout` applies to all files.
 */
setDefaultTimeout(Number(process.env.TEST_TIMEOUT_MS ?? 120_000));

/** Runs once at the end of `bun test`, and stops the PostgreSQL that the first test file to need it has started. */
afterAll(stopPostgres, 120_000);
