import { afterAll } from 'bun:test';
import { stopPostgres } from './postgres.ts';

/** Runs once for the whole of `bun test`: the PostgreSQL that any file may have started ends with it. */
afterAll(stopPostgres, 120_000);
