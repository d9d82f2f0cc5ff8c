import { afterAll, setDefaultTimeout } from 'bun:test';
import { stopPostgres } from './postgres.ts';

/** A test that hangs must end, but no test may fail because the machine is slow. */
setDefaultTimeout(120_000);

/** Runs once for the whole of `bun test`: the PostgreSQL that any file may have started ends with it. */
afterAll(stopPostgres);
