import { afterAll } from 'bun:test';
import { stopPostgres } from './postgres.ts';

/** Runs once at the end of `bun test`, and stops the PostgreSQL that the first test file to need it has started. */
afterAll(stopPostgres, 120_000);
